"""RPP, relation pattern: which pattern of relating is at work at a therapist's row?"""

from __future__ import annotations

from pipeline.annotation.labels import fold, label_set
from pipeline.annotation.model import Annotation, Row
from pipeline.tasks.base import Built, TaskOptions, context_before, instance

__all__ = ["build"]


def build(annotation: Annotation, options: TaskOptions) -> Built:
    """Therapist rows whose label is in the scenario's set; optionally any row with one."""
    built = Built()
    candidates = [label.label for label in label_set(annotation.scenario).relation_patterns]
    for row in annotation.rows:
        if options.rpp_therapist_rows_only and not row.is_therapist:
            built.excluded["not the therapist's row"] += 1
            continue
        label = _label(row)
        if label is None:
            reason = "label empty" if row.relation_pattern == "" or row.relation_cycle_state == "" else "no label"
            built.excluded[reason] += 1
        elif label not in candidates:
            built.excluded["label not of this scenario"] += 1
        else:
            context = context_before(row.row_index, options)
            built.instances.append(instance("rpp", annotation, row, context, label=label, candidates=candidates))
    return built


def _label(row: Row) -> str | None:
    label = row.relation_label if row.is_therapist else row.relation_cycle_state or row.relation_pattern
    return fold(label) or None if label else None
