"""STP, support target: whom does the therapist support in this row?"""

from __future__ import annotations

from pipeline.annotation.model import Annotation
from pipeline.tasks.base import Built, TaskOptions, context_before, instance, unique
from pipeline.tasks.support import candidate_targets, strategy_of, support_target

__all__ = ["build"]


def build(annotation: Annotation, options: TaskOptions) -> Built:
    """Therapist rows whose first strategy has a type and a target that resolves."""
    built = Built()
    candidates = candidate_targets(annotation)
    for row in annotation.rows:
        if not row.is_therapist:
            built.excluded["not the therapist's row"] += 1
        elif strategy_of(row) is None:
            built.excluded["no strategy"] += 1
        elif (target := support_target(annotation, row)) is None:
            built.excluded["no support target"] += 1
        else:
            context = context_before(row.row_index, options)
            listed = unique([*candidates, target])
            built.instances.append(instance("stp", annotation, row, context, target=target, candidates=listed))
    return built
