"""What a publication may show: allow-lists of columns, by policy.

A column is published only if a policy names it. A new column stays private until someone adds it here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import pyarrow as pa

__all__ = ["Policy", "project", "published_schema"]


class Policy(StrEnum):
    """How much of the text a publication holds."""

    ANNOTATIONS_ONLY = "annotations-only"
    """Ids, times, names, labels and numbers; no free text: neither what was said nor what annotators wrote."""
    TEXT = "text"
    """What was said and what annotators wrote as well."""
    FULL = "full"
    """All columns: also every recognised word with its time, and titles."""


_COMMON = ("conversation_id", "group_id", "scenario", "split")

_ANNOTATIONS_ONLY: Mapping[str, tuple[str, ...]] = {
    "conversations": (
        *_COMMON,
        "language",
        "participants",
        "has_therapist",
        "duration",
        "has_audio",
        "has_video",
        "speaker_count",
        "turn_count",
        "word_count",
        "row_count",
    ),
    "turns": (*_COMMON, "turn_index", "speaker", "start", "end", "word_count", "confidence", "overlap", "flags"),
    "rows": (
        *_COMMON,
        "row_index",
        "start_time",
        "end_time",
        "primary_speaker",
        "target",
        "utterance_type",
        "background_dialogue.speaker",
        "background_dialogue.target",
        "body_posture.person",
        "facial_expressions.person",
        "self_directed_behavior.person",
        "interaction_behavior.initiator",
        "interaction_behavior.target",
        "internal_emotion.person",
        "internal_emotion.intensity",
        "viewpoints_attitudes.source",
        "viewpoints_attitudes.target",
        "support_strategy.provider",
        "support_strategy.target",
        "support_strategy.strategy_type",
        "relation_label",
        "relation_pattern",
        "relation_pattern_evidence_rows",
        "relation_cycle_state",
        "relation_cycle_evidence_rows",
        "machine_start",
        "machine_end",
        "machine_speaker",
        "machine_participant",
        "speaker_agrees",
        "matched_share",
        "text_error_rate",
        "start_offset",
        "end_offset",
        "join_flags",
    ),
    **{
        task: ("instance_id", "task", *_COMMON, "row_index", "context_rows.first", "context_rows.last", *gold)
        for task, gold in {
            "itp": ("should_speak",),
            "rpp": ("label", "candidates"),
            "stp": ("target", "candidates"),
            "ssp": ("strategy", "candidates", "support_target"),
            "er": ("intensity",),
            "vp": ("viewpoints.source", "viewpoints.target"),
        }.items()
    },
}

_TEXT: Mapping[str, tuple[str, ...]] = {
    "turns": ("text",),
    "rows": (
        "dialogue_cleaned",
        "background_dialogue.content",
        "tone_of_voice",
        "body_posture.description",
        "facial_expressions.description",
        "self_directed_behavior.description",
        "interaction_behavior.description",
        "internal_emotion.emotion_description",
        "viewpoints_attitudes.viewpoint",
        "viewpoints_attitudes.attitude",
        "support_strategy.strategy_content",
        "relation_pattern_reason",
        "relation_cycle_reason",
    ),
    "ssp": ("recent_emotion",),
    "er": ("emotion",),
    "vp": ("viewpoints.viewpoint", "viewpoints.attitude"),
}


def published_schema(table: str, schema: pa.Schema, policy: Policy) -> pa.Schema:
    """The columns of a table that a policy lets through, in the order of the schema."""
    if policy is Policy.FULL:
        return schema
    allowed = frozenset(_ANNOTATIONS_ONLY[table])
    if policy is Policy.TEXT:
        allowed |= frozenset(_TEXT.get(table, ()))
    fields = [kept for field in schema if (kept := _kept(field, field.name, allowed)) is not None]
    return pa.schema(fields, metadata={**(schema.metadata or {}), b"rescue.policy": policy.value.encode()})


def project(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """The rows with only what the schema names, nested parts included."""
    return pa.Table.from_pylist([_part(row, schema) for row in rows], schema=schema)


def _kept(field: pa.Field, path: str, allowed: frozenset[str]) -> pa.Field | None:
    if path in allowed:
        return field
    if pa.types.is_list(field.type):
        item = _kept(field.type.value_field, path, allowed)
        return None if item is None else field.with_type(pa.list_(item))
    if pa.types.is_struct(field.type):
        parts = [kept for part in field.type if (kept := _kept(part, f"{path}.{part.name}", allowed)) is not None]
        return field.with_type(pa.struct(parts)) if parts else None
    return None


def _part(value: Any, kind: pa.Schema | pa.DataType) -> Any:
    if value is None:
        return None
    if isinstance(kind, pa.Schema) or pa.types.is_struct(kind):
        return {field.name: _part(value[field.name], field.type) for field in kind}
    if pa.types.is_list(kind):
        return [_part(item, kind.value_type) for item in value]
    return value
