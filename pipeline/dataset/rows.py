"""From the ``rows`` table of a conversation back to its annotation: the one place that knows both forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipeline.annotation.model import Annotation, Row
from pipeline.conversation import Conversation, Scenario

__all__ = ["ANNOTATED", "annotation_from_rows", "row_values"]

ANNOTATED = tuple(Row.model_fields)
"""Columns of the ``rows`` table that people annotated."""


def row_values(row: Row) -> dict[str, Any]:
    """The annotated columns of the ``rows`` table, and the resolved relation label."""
    return {**row.model_dump(mode="json"), "relation_label": row.relation_label}


def annotation_from_rows(
    conversation: Conversation, rows: Iterable[Mapping[str, Any]], participants: Sequence[str]
) -> Annotation | None:
    """The annotation that the rows of a conversation hold; None if there are none."""
    listed = list(rows)
    if not listed:
        return None
    return Annotation(
        conversation_id=conversation.id,
        scenario=Scenario(listed[0]["scenario"]),
        participants=tuple(participants),
        rows=tuple(Row.model_validate({name: row[name] for name in ANNOTATED}) for row in listed),
    )
