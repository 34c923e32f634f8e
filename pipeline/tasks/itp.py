"""ITP, intervention timing: after a client's row, should the therapist speak now?"""

from __future__ import annotations

from itertools import pairwise

from pipeline.annotation.model import Annotation, Row
from pipeline.tasks.base import Built, TaskOptions, context_upto, instance, thin

__all__ = ["build"]


def build(annotation: Annotation, options: TaskOptions) -> Built:
    """Boundaries after a client's row, as many where the therapist speaks next as where a client does.

    Both kinds are thinned evenly to the size of the smaller one, and ordered by their place.
    """
    built = Built()
    rows = annotation.rows
    yes: list[Row] = []
    no: list[Row] = []
    for row, after in pairwise(rows):
        if row.is_therapist:
            built.excluded["the therapist's own row"] += 1
        elif after.is_therapist:
            yes.append(row)
        else:
            no.append(row)
    if rows:
        built.excluded["last row of the conversation"] += 1
    keep = min(len(yes), len(no))
    built.excluded["thinned to balance"] += len(yes) + len(no) - 2 * keep
    chosen = [(row, True) for row in thin(yes, keep)] + [(row, False) for row in thin(no, keep)]
    for row, should_speak in sorted(chosen, key=lambda pair: pair[0].row_index):
        context = context_upto(row.row_index, options)
        built.instances.append(instance("itp", annotation, row, context, should_speak=should_speak))
    return built
