"""The rows of one person's layer as values: their fields, their order, and what the rules say of them.

A row keeps its id for ever; its number is its place among the rows that are not discarded, in order of time. So
evidence rows are held by id, and become numbers only where an annotation is made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from pipeline.annotation.findings import Severity
from pipeline.annotation.model import Annotation, Origin, Row
from pipeline.annotation.validate import validate
from pipeline.conversation import Conversation
from pipeline.errors import InputError
from pipeline.review.errors import Invalid
from pipeline.store import Json
from pipeline.times import Seconds, round_time

__all__ = [
    "DRAFT",
    "EVIDENCE",
    "FIELDS",
    "VERIFIED",
    "Entry",
    "Findings",
    "annotation_of_layer",
    "check_texts",
    "entries_of",
    "fields_of",
    "findings_of",
    "has_errors",
    "live",
    "row_json",
]

DRAFT = "draft"
VERIFIED = "verified"

_DEEPEST = 12
"""Levels of a change: its edits, their fields, the lists, records and lists in these."""

EVIDENCE = ("relation_pattern_evidence_rows", "relation_cycle_evidence_rows")
_TIMES = ("start_time", "end_time")
_LONGEST: Seconds = 1e7

FIELDS = tuple(name for name in Row.model_fields if name != "row_index")
"""The fields that a person fills in, in the order of the row schema."""

Findings = dict[str, list[dict[str, Json]]]
"""Row id, or empty text for the conversation as a whole, to what the rules say."""


@dataclass(frozen=True)
class Entry:
    """One row of a layer."""

    row_id: str
    version: int
    sequence: int
    """Order of coming in, for rows that start together."""
    fields: Mapping[str, Json]
    """Every one of `FIELDS` as JSON; evidence rows are row ids."""
    status: str = DRAFT
    discarded: bool = False
    discard_reason: str | None = None
    machine: Mapping[str, Json] | None = None
    """What recognition said when the row was made: speaker, start, end, text."""
    origin: Mapping[str, Json] = field(default_factory=dict)
    """What the row was made from."""
    open: Sequence[Json] = ()
    """What the rule of adjudication left open."""

    @property
    def state(self) -> dict[str, Json]:
        """What the history holds of it."""
        return {
            "fields": dict(self.fields),
            "status": self.status,
            "discarded": self.discarded,
            "discard_reason": self.discard_reason,
            "machine": self.machine,
        }


def live(entries: Iterable[Entry]) -> list[Entry]:
    """Those that are not discarded, in order."""
    return sorted((entry for entry in entries if not entry.discarded), key=_place)


def _place(entry: Entry) -> tuple[Seconds, int]:
    return float(entry.fields["start_time"]), entry.sequence


def fields_of(
    given: Mapping[str, Json], before: Mapping[str, Json] | None, ids: Iterable[str], place: str
) -> dict[str, Json]:
    """The given fields in their stored form.

    Args:
        given: Some fields.
        before: All fields of the row so far; None for a new row.
        ids: Row ids that evidence may name.
        place: Where the fields stand in the request, for messages.

    Raises:
        Invalid: If a field is unknown, has the wrong shape, or holds a broken character.
    """
    unknown = [name for name in given if name not in FIELDS]
    if unknown:
        raise Invalid(f"{place}.{_shown(unknown[0])}", "there is no such field")
    check_texts(given, place)
    numbers = {row_id: number for number, row_id in enumerate(ids, start=1)}
    values: dict[str, Any] = {**(before or {}), **given}
    for name in EVIDENCE:
        values[name] = _numbered(values.get(name), numbers, f"{place}.{name}", strict=name in given)
    if before is None:
        values = {"primary_speaker": "", "dialogue_cleaned": "", **values}
    try:
        row = Row.model_validate({"row_index": 1, **values})
    except ValidationError as error:
        found = [
            (".".join((place, *(str(part) for part in one["loc"]))), one["msg"])
            for one in error.errors(include_url=False, include_input=False, include_context=False)
        ]
        raise Invalid(*found[0], others=found[1:]) from None
    stored = row.model_dump(mode="json", include=set(given) if before is not None else set(FIELDS))
    for name in _TIMES:
        if name in stored:
            if abs(stored[name]) > _LONGEST:
                raise Invalid(f"{place}.{name}", "no recording is that long")
            stored[name] = round_time(stored[name])
    for name in EVIDENCE:
        if name in stored and stored[name] is not None:
            stored[name] = list(dict.fromkeys(given[name]))
    return stored


def _numbered(value: Json, numbers: Mapping[str, int], place: str, *, strict: bool) -> Json:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Invalid(place, "give a list of row ids, or null")
    unknown = [one for one in value if one not in numbers]
    if unknown and strict:
        raise Invalid(place, "it names a row that is not there")
    return [numbers[one] for one in value if one in numbers]


def check_texts(value: Json, place: str, *, depth: int = 0) -> None:
    """Refuse what no file can hold: half of a surrogate pair, the zero character, a number that is none.

    Raises:
        Invalid: If there is one, or lists lie in lists without end; the message says where.
    """
    if depth > _DEEPEST:
        raise Invalid(place[:200], "no field is as deep as that")
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
            raise Invalid(place, "a text holds a broken character; delete it")
    elif isinstance(value, float) and not math.isfinite(value):
        raise Invalid(place, "it is no number")
    elif isinstance(value, Mapping):
        for name, part in value.items():
            check_texts(name, f"{place}.{_shown(name)}", depth=depth + 1)
            check_texts(part, f"{place}.{_shown(name)}", depth=depth + 1)
    elif isinstance(value, list):
        for position, part in enumerate(value):
            check_texts(part, f"{place}.{position}", depth=depth + 1)


def _shown(name: Json) -> str:
    """A name out of a request, for messages."""
    return str(name)[:60].encode(errors="replace").decode()


def annotation_of_layer(conversation: Conversation, entries: Iterable[Entry], origin: Origin | None) -> Annotation:
    """The annotation that a layer is. Evidence that names a discarded row is left out; `findings_of` says so.

    Raises:
        InputError: If it is not said whether this is a couple or a family.
    """
    if conversation.scenario is None:
        msg = "it is not said whether this is a couple or a family"
        raise InputError(msg, conversation=conversation.id, hint="add `scenario: couple` to conversation.yaml")
    kept = live(entries)
    numbers = {entry.row_id: number for number, entry in enumerate(kept, start=1)}
    return Annotation(
        conversation_id=conversation.id,
        scenario=conversation.scenario,
        participants=conversation.participants,
        origin=origin,
        rows=tuple(_row(entry, numbers) for entry in kept),
    )


def _row(entry: Entry, numbers: Mapping[str, int]) -> Row:
    values: dict[str, Any] = {**entry.fields, "row_index": numbers[entry.row_id]}
    for name in EVIDENCE:
        if values[name] is not None:
            values[name] = [numbers[one] for one in values[name] if one in numbers]
    return Row.model_validate(values)


def entries_of(rows: Sequence[Row], ids: Sequence[str]) -> list[Entry]:
    """Entries from the rows of an annotation; evidence that names no row of it is left out."""
    known = {row.row_index: row_id for row, row_id in zip(rows, ids, strict=True)}
    made = []
    for sequence, (row, row_id) in enumerate(zip(rows, ids, strict=True), start=1):
        fields = row.model_dump(mode="json", exclude={"row_index"})
        for name in EVIDENCE:
            if fields[name] is not None:
                fields[name] = [known[one] for one in fields[name] if one in known]
        made.append(Entry(row_id, 1, sequence, fields))
    return made


def findings_of(conversation: Conversation, entries: Sequence[Entry], duration: Seconds | None) -> Findings:
    """What the rules say of every row, and of the whole."""
    kept = live(entries)
    numbered = {number: entry.row_id for number, entry in enumerate(kept, start=1)}
    found: Findings = {}
    for finding in validate(annotation_of_layer(conversation, kept, None), duration=duration):
        row_id = numbered.get(finding.row) if finding.row is not None else None
        found.setdefault(row_id or "", []).append(
            {
                "severity": finding.severity.value,
                "rule": finding.rule,
                "row_id": row_id,
                "field": finding.field,
                "message": finding.message,
                "suggestion": finding.suggestion,
            }
        )
    ids = frozenset(numbered.values())
    for entry in kept:
        for name in EVIDENCE:
            if any(one not in ids for one in entry.fields[name] or ()):
                found.setdefault(entry.row_id, []).append(
                    {
                        "severity": Severity.WARNING.value,
                        "rule": "evidence-row",
                        "row_id": entry.row_id,
                        "field": name,
                        "message": "a row that was discarded is named as evidence",
                        "suggestion": "name another row",
                    }
                )
    return found


def has_errors(findings: Findings, row_id: str) -> bool:
    """Whether a row cannot be verified as it is."""
    return any(finding["severity"] == Severity.ERROR for finding in findings.get(row_id, ()))


def row_json(entry: Entry, row_index: int | None, machine_now: Json = None) -> dict[str, Json]:
    """ROW of the interface."""
    return {
        "row_id": entry.row_id,
        "version": entry.version,
        "row_index": row_index,
        "status": entry.status,
        "discarded": entry.discarded,
        "discard_reason": entry.discard_reason,
        "fields": dict(entry.fields),
        "machine": entry.machine,
        "machine_now": machine_now,
        "open": list(entry.open) if entry.status != VERIFIED else [],
    }
