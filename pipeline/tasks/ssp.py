"""SSP, support strategy: with which strategy does the therapist support the target?"""

from __future__ import annotations

from pipeline.annotation.labels import label_set
from pipeline.annotation.model import Annotation, Row
from pipeline.tasks.base import Built, TaskOptions, context_before, instance
from pipeline.tasks.support import strategy_of, support_target

__all__ = ["build"]


def build(annotation: Annotation, options: TaskOptions) -> Built:
    """Therapist rows whose first strategy is in the scenario's set and whose target resolves.

    The target's most recent known emotion comes with the instance: of the nearest earlier row within a window.
    """
    built = Built()
    candidates = [label.label for label in label_set(annotation.scenario).support_strategies]
    for row in annotation.rows:
        strategy = strategy_of(row)
        if not row.is_therapist:
            built.excluded["not the therapist's row"] += 1
        elif strategy is None:
            built.excluded["no strategy"] += 1
        elif strategy not in candidates:
            built.excluded["strategy not of this scenario"] += 1
        elif (target := support_target(annotation, row)) is None:
            built.excluded["no support target"] += 1
        else:
            context = context_before(row.row_index, options)
            built.instances.append(
                instance(
                    "ssp",
                    annotation,
                    row,
                    context,
                    strategy=strategy,
                    candidates=candidates,
                    support_target=target,
                    recent_emotion=_recent_emotion(annotation, row, target, options.ssp_emotion_window),
                )
            )
    return built


def _recent_emotion(annotation: Annotation, row: Row, target: str, window: int | None) -> str | None:
    """Of the target, or of any participant where the group is supported."""
    group = target == annotation.scenario.group_label
    first = 0 if window is None else max(0, row.row_index - 1 - window)
    for earlier in reversed(annotation.rows[first : row.row_index - 1]):
        for emotion in earlier.internal_emotion:
            fits = emotion.person in annotation.participants if group else emotion.person == target
            if fits and emotion.emotion_description.strip():
                return emotion.emotion_description.strip()
    return None
