"""What a model is shown of an instance.

Fields come from an allow-list for each evidence mode, rows from the instance's own context: nothing else of a row, and
no later row, can reach a prompt. Texts are templates in ``annotation_schema/prompts``; their digest travels with every
result.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pipeline.annotation.labels import label_set
from pipeline.conversation import Scenario
from pipeline.errors import InputError
from pipeline.store import Json

__all__ = [
    "FIELDS",
    "Mode",
    "Prompt",
    "RenderOptions",
    "batches",
    "flat",
    "render",
    "template",
    "tidy",
    "visible_rows",
]

RowValue = Mapping[str, Any]
"""A row as the ``rows`` table holds it."""


class Mode(StrEnum):
    """What evidence a model gets."""

    DIALOGUE = "dialogue"
    AUDIO = "audio"
    VISUAL = "visual"
    AUDIOVISUAL = "audiovisual"
    CLIPS = "clips"
    """The dialogue as text, and the row clips themselves as media."""


_DIALOGUE = ("row_index", "primary_speaker", "target", "dialogue_cleaned", "background_dialogue")
_AUDIO = ("tone_of_voice",)
_VISUAL = ("body_posture", "facial_expressions", "self_directed_behavior", "interaction_behavior")

FIELDS: Mapping[Mode, tuple[str, ...]] = {
    Mode.DIALOGUE: _DIALOGUE,
    Mode.AUDIO: _DIALOGUE + _AUDIO,
    Mode.VISUAL: _DIALOGUE + _VISUAL,
    Mode.AUDIOVISUAL: _DIALOGUE + _AUDIO + _VISUAL,
    Mode.CLIPS: _DIALOGUE,
}
"""The only fields of a row that a prompt may show, by mode. Every task uses the same list."""

_SHOWS_TARGET_ROW = frozenset({"er", "vp"})


class RenderOptions(BaseModel):
    """How instances are shown."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    mode: Mode = Mode.DIALOGUE
    context_size: int | None = Field(default=None, ge=0)
    """Rows of context at most; None shows all that the instance allows."""
    include_current: bool = False
    """RPP only: show the target row itself."""
    recent_emotion: bool = True
    """SSP only: tell the target's most recent known emotion."""
    candidate_order: Literal["fixed", "shuffled"] = "fixed"
    """``fixed``: the order of the label set, or of first appearance. ``shuffled``: by seed and instance."""
    seed: int = 0


@dataclass(frozen=True)
class Prompt:
    """What is sent for one instance."""

    instance_id: str
    system: str
    user: str
    answer_schema: Json
    """JSON Schema of the answer."""
    digest: str
    """SHA-256 over the templates used: the version of the wording."""
    clip_rows: tuple[int, ...] = ()
    """Rows whose clips go with the text, in mode ``clips``."""


def visible_rows(instance: Mapping[str, Any], options: RenderOptions) -> range:
    """Indexes of the rows that a model may see for an instance, the target row not included.

    Never beyond what the instance allows, whatever the options say.
    """
    context = instance["context_rows"]
    if context is None:
        return range(0)
    first, last = context["first"], context["last"]
    if options.context_size is not None:
        first = max(first, last - options.context_size + 1)
    return range(first, last + 1)


def render(instance: Mapping[str, Any], rows: Sequence[RowValue], options: RenderOptions) -> Prompt:
    """The prompt of an instance.

    Args:
        instance: A row of a task table.
        rows: The conversation's rows, in order.
        options: How it is shown.

    Raises:
        InputError: If a row that the instance points to is not there.
    """
    task, scenario = instance["task"], Scenario(instance["scenario"])
    by_index = {row["row_index"]: row for row in rows}
    shown = list(visible_rows(instance, options))
    target = [instance["row_index"]] if task in _SHOWS_TARGET_ROW or (task == "rpp" and options.include_current) else []
    missing = [index for index in (*shown, *target) if index not in by_index]
    if missing:
        msg = f"the instance points to row {missing[0]}, which is not there"
        raise InputError(msg, conversation=instance["conversation_id"], hint="build the data set again")
    fields = FIELDS[options.mode]
    candidates = _ordered(instance, options)
    values = {
        "context": "\n".join(_line(by_index[index], fields) for index in shown) or "(nothing was said before)",
        "target_row": f"The row in question:\n{_line(by_index[target[0]], fields)}" if target else "",
        "candidates": _described(task, scenario, candidates),
        "support_target": instance.get("support_target") or "",
        "recent_emotion": _recent_emotion(instance, options),
        "speaker": by_index[target[0]]["primary_speaker"] if target else "",
        "clips": "The clips of these rows follow as media, in order." if options.mode is Mode.CLIPS else "",
    }
    system, question = template(f"system.{scenario.value}"), template(task)
    return Prompt(
        instance_id=instance["instance_id"],
        system=system.strip(),
        user=tidy(Template(question).substitute(values)),
        answer_schema=_answer_schema(task, candidates),
        digest=hashlib.sha256(f"{system}\0{question}".encode()).hexdigest(),
        clip_rows=(*shown, *target) if options.mode is Mode.CLIPS else (),
    )


def batches(instances: Iterable[Mapping[str, Any]], size: int) -> Iterator[tuple[Mapping[str, Any], ...]]:
    """Group instances of one task into requests whose contexts cannot answer each other.

    A later instance of a conversation shows rows that answer an earlier one, so a request holds at most one instance of
    a conversation.

    Raises:
        ValueError: If the size is below 1.
    """
    if size < 1:
        msg = f"a batch holds at least one instance, not {size}"
        raise ValueError(msg)
    waiting: list[dict[str, Mapping[str, Any]]] = []
    for instance in instances:
        conversation = instance["conversation_id"]
        batch = next((batch for batch in waiting if conversation not in batch), None)
        if batch is None:
            batch = {}
            waiting.append(batch)
        batch[conversation] = instance
        if len(batch) == size:
            waiting.remove(batch)
            yield tuple(batch.values())
    for batch in waiting:
        yield tuple(batch.values())


@cache
def template(name: str) -> str:
    """The text of a template in ``annotation_schema/prompts``, by its name without ``.md``."""
    return (files("annotation_schema") / "prompts" / f"{name}.md").read_text("utf-8")


def _ordered(instance: Mapping[str, Any], options: RenderOptions) -> list[str]:
    candidates = list(instance.get("candidates") or ())
    if options.candidate_order == "shuffled":
        # Reproducible on purpose, no secret depends on it.
        random.Random(f"{options.seed}/{instance['instance_id']}").shuffle(candidates)  # noqa: S311
    return candidates


def _described(task: str, scenario: Scenario, candidates: Sequence[str]) -> str:
    if task not in ("rpp", "ssp"):
        return "\n".join(f"- {candidate}" for candidate in candidates)
    labels = label_set(scenario)
    known = {label.label: label for label in (labels.relation_patterns if task == "rpp" else labels.support_strategies)}
    return "\n".join(f"- {candidate}: {known[candidate].definition}" for candidate in candidates)


def _recent_emotion(instance: Mapping[str, Any], options: RenderOptions) -> str:
    emotion = instance.get("recent_emotion") if options.recent_emotion else None
    return f"Most recent known emotion of {instance['support_target']}: {emotion}" if emotion else ""


def _line(row: RowValue, fields: Sequence[str]) -> str:
    """A row as a line of a script, with what else the mode allows below it."""
    to = ", ".join(row["target"]) or "all"
    lines = [f"[{row['row_index']}] {row['primary_speaker']} to {to}: {flat(row['dialogue_cleaned'])}"]
    notes = [note for field in fields if field in _NOTES for note in _NOTES[field](row)]
    return "\n".join([*lines, *(f"    {flat(note)}" for note in notes)])


def _background(row: RowValue) -> Iterator[str]:
    for part in row["background_dialogue"]:
        yield f"(meanwhile, {part['speaker']}: {part['content']})"


def _tone(row: RowValue) -> Iterator[str]:
    if row["tone_of_voice"]:
        yield f"voice: {row['tone_of_voice']}"


def _seen(field: str, word: str) -> Any:
    def notes(row: RowValue) -> Iterator[str]:
        for part in row[field]:
            yield f"{word}, {part['person']}: {part['description']}"

    return notes


def _interaction(row: RowValue) -> Iterator[str]:
    for part in row["interaction_behavior"]:
        yield f"behaviour, {part['initiator']} to {', '.join(part['target']) or 'all'}: {part['description']}"


_NOTES: Mapping[str, Any] = {
    "background_dialogue": _background,
    "tone_of_voice": _tone,
    "body_posture": _seen("body_posture", "posture"),
    "facial_expressions": _seen("facial_expressions", "face"),
    "self_directed_behavior": _seen("self_directed_behavior", "self-directed"),
    "interaction_behavior": _interaction,
}


def flat(text: str) -> str:
    """On one line, so that no text can look like a row of its own."""
    return " ".join(text.split())


def tidy(text: str) -> str:
    """Without the gaps that empty values leave."""
    parts = [part.strip("\n") for part in text.split("\n\n")]
    return "\n\n".join(part for part in parts if part.strip()).strip()


def _answer_schema(task: str, candidates: Sequence[str]) -> Json:
    ranked = {"type": "array", "items": {"type": "string", "enum": list(candidates)}, "minItems": 1, "maxItems": 3}
    text = {"type": "string"}
    views: dict[str, Json] = dict.fromkeys(("source", "target", "viewpoint", "attitude"), text)
    properties: dict[str, dict[str, Json]] = {
        "itp": {"should_speak": {"type": "boolean"}},
        "rpp": {"labels": ranked},
        "stp": {"targets": ranked},
        "ssp": {"strategies": ranked},
        "er": {"emotion": text, "intensity": {"type": "integer", "minimum": 0, "maximum": 10}},
        "vp": {"viewpoints": {"type": "array", "items": _closed(views)}},
    }
    return _closed(properties[task])


def _closed(properties: Mapping[str, Json]) -> Json:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
