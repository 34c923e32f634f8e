"""The support target of a row, and the candidates for it: shared by STP and SSP."""

from __future__ import annotations

from pipeline.annotation.labels import fold
from pipeline.annotation.model import Annotation, Row
from pipeline.conversation import THERAPIST
from pipeline.tasks.base import is_client, unique

__all__ = ["candidate_targets", "strategy_of", "support_target"]


def strategy_of(row: Row) -> str | None:
    """The type of the first strategy of a therapist's row; None where there is none."""
    if not row.is_therapist or not row.support_strategy:
        return None
    return fold(row.support_strategy[0].strategy_type) or None


def support_target(annotation: Annotation, row: Row) -> str | None:
    """Whom a row supports.

    From the first strategy: its target without the therapist; if that is empty, the row's target without the therapist.
    One name stays that name; several become the group label. None where nobody is left.
    """
    if not row.support_strategy:
        return None
    for targets in (row.support_strategy[0].target, row.target):
        names = unique(name for name in targets if name and name != THERAPIST)
        if names:
            return names[0] if len(names) == 1 else annotation.scenario.group_label
    return None


def candidate_targets(annotation: Annotation) -> list[str]:
    """Whom the therapist could support: people in order of first appearance, the group, then other targets.

    A person appears as speaker, as target, or as target of support; who is listed but never appears comes after those
    who do. What else the therapist addresses comes last.
    """
    scenario = annotation.scenario
    participants = frozenset(annotation.participants)
    appearing = [name for row in annotation.rows for name in _names(row)]
    people = [name for name in appearing if name in participants]
    others = [
        name
        for row in annotation.rows
        if row.is_therapist
        for name in (*row.target, *(name for move in row.support_strategy for name in move.target))
        if is_client(name)
    ]
    return unique([*people, *annotation.participants, scenario.group_label, *others])


def _names(row: Row) -> list[str]:
    return [row.primary_speaker, *row.target, *(name for move in row.support_strategy for name in move.target)]
