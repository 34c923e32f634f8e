"""From the answer of a model to rows with findings, by the rules that annotations of people pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from pipeline.annotation.coverage import check_coverage
from pipeline.annotation.findings import Finding, Severity
from pipeline.annotation.labels import label_set
from pipeline.annotation.model import Annotation, Row
from pipeline.annotation.normalize import normalize_rows
from pipeline.annotation.validate import validate
from pipeline.drafts.prompt import asked_fields
from pipeline.drafts.window import Material, Window
from pipeline.evaluation.answers import Reason, read_object
from pipeline.evaluation.ledger import Reply
from pipeline.store import Json
from pipeline.times import Interval, Seconds

__all__ = ["Checked", "check_reply", "findings_of", "wrong"]

_REPAIRED_TOO = frozenset(
    {
        "cue-not-covered",
        "label-other-scenario",
        "provider",
        "speaker-not-listed",
        "text-not-in-subtitles",
        "turn-left-out",
        "unknown-label",
        "unknown-name",
    }
)
"""Rules that ask for repair though they are no errors: names, labels, turns and subtitles were given to keep to."""
_OUTSIDE: Seconds = 1.0
"""Seconds by which a row may leave its window: recognised word times are that rough."""


@dataclass(frozen=True)
class Checked:
    """What one answer is worth."""

    rows: tuple[Row, ...] = ()
    """In order, numbered from the first free number."""
    findings: tuple[Finding, ...] = ()
    """About these rows."""
    unread: Reason | None = None
    """Why there are no rows at all."""
    detail: str = ""

    @property
    def wrong(self) -> list[Finding]:
        """The findings that ask for repair."""
        return wrong(self.findings)


def wrong(findings: Sequence[Finding]) -> list[Finding]:
    """The findings that ask for repair."""
    return [one for one in findings if one.severity is Severity.ERROR or one.rule in _REPAIRED_TOO]


def check_reply(reply: Reply, material: Material, window: Window, rows: Sequence[Row]) -> Checked:
    """Read and check an answer.

    Args:
        reply: What the model wrote.
        material: The conversation.
        window: What was asked for.
        rows: The rows of the windows before.
    """
    reading = read_object(reply.text, _Answer.model_validate, truncated=reply.truncated, refused=reply.refused)
    if reading.answer is None:
        return Checked(unread=reading.reason, detail=reading.detail)
    made, about = _typed(reading.answer.rows, material, len(rows) + 1)
    return Checked(made, (*about, *findings_of(made, material, window, rows)))


class _Answer(BaseModel):
    rows: list[dict[str, Any]]


def findings_of(made: Sequence[Row], material: Material, window: Window, rows: Sequence[Row]) -> list[Finding]:
    """What validation says of new rows behind those that are there, and whether they are the rows of this window."""
    before = set(validate(_annotation(material, rows), duration=material.duration))
    after = validate(_annotation(material, [*rows, *made]), duration=material.duration)
    new = (one for one in after if one not in before)
    return [*new, *_of_subtitles(made, material, window, rows), *_of_window(made, material, window)]


def _of_subtitles(made: Sequence[Row], material: Material, window: Window, rows: Sequence[Row]) -> Iterator[Finding]:
    """Whether the new rows hold the cues of their window, and only words of cues, be they of its neighbours."""
    for finding in check_coverage(_annotation(material, [*rows, *made]), window.cues):
        if finding.rule == "cue-not-covered":
            yield finding
    for finding in check_coverage(_annotation(material, made), material.cues):
        if finding.rule == "text-not-in-subtitles":
            yield finding


def _annotation(material: Material, rows: Sequence[Row]) -> Annotation:
    conversation = material.conversation
    return Annotation(
        conversation_id=conversation.id,
        scenario=material.scenario,
        participants=conversation.participants,
        rows=tuple(rows),
    )


def _of_window(made: Sequence[Row], material: Material, window: Window) -> list[Finding]:
    span, identity = window.span, material.conversation.id
    found = [
        Finding(
            Severity.ERROR,
            "outside-window",
            identity,
            row.row_index,
            "start_time" if row.start_time < span.start - _OUTSIDE else "end_time",
            f"lies at {row.start_time:g}-{row.end_time:g} s, the turns at {span.start:.2f}-{span.end:.2f} s",
            "use the times of the turns",
        )
        for row in made
        if row.start_time < span.start - _OUTSIDE or row.end_time > span.end + _OUTSIDE
    ]
    times = [Interval(row.start_time, row.end_time) for row in made]
    found += [
        Finding(
            Severity.WARNING,
            "turn-left-out",
            identity,
            None,
            "rows",
            f"no row has the words of turn {turn.index} ({turn.interval.start:.2f}-{turn.interval.end:.2f} s)",
            "write a row for it, or put it into one",
        )
        for turn in window.turns
        if not any(time.overlap(turn.interval) > 0 for time in times) and turn.interval.duration > 0
    ]
    return found


def _typed(raw: Sequence[Mapping[str, Json]], material: Material, first: int) -> tuple[tuple[Row, ...], list[Finding]]:
    """Rows of the answer's objects, numbered on; objects that are no rows are left out, each with findings."""
    identity, asked = material.conversation.id, frozenset(asked_fields(material))
    fixed, _ = normalize_rows(
        list(raw),
        conversation_id=identity,
        labels=label_set(material.scenario),
        scenario=material.scenario,
    )
    made: list[Row] = []
    numbers: dict[int, int] = {}
    findings: list[Finding] = []
    for position, values in enumerate(fixed):
        number = first + len(made)
        given = values.get("row_index")
        unasked = [name for name in values if name in Row.model_fields and name not in asked and values[name]]
        findings += [
            _finding(Severity.WARNING, "not-shown", identity, number, name, "is not to be known from what was shown")
            for name in unasked
        ]
        kept = {name: value for name, value in values.items() if name in asked or name not in Row.model_fields}
        try:
            made.append(Row.model_validate(kept | {"row_index": number}))
            made[-1].model_dump_json()
        except ValidationError as error:
            findings += [
                _finding(
                    Severity.ERROR,
                    "shape",
                    identity,
                    first + position,
                    ".".join(str(part) for part in one["loc"]),
                    f"the row is left out: {one['msg']}",
                )
                for one in error.errors()
            ]
        except PydanticSerializationError:
            made.pop()
            message = "the row is left out: a text holds half of a character"
            findings.append(_finding(Severity.ERROR, "shape", identity, first + position, "row", message))
        else:
            if isinstance(given, int):
                numbers.setdefault(given, number)
    return tuple(_renumbered(row, numbers) for row in made), findings


def _renumbered(row: Row, numbers: Mapping[int, int]) -> Row:
    """With evidence that points to the same rows after they were numbered on."""
    evidence = row.relation_pattern_evidence_rows
    if not evidence:
        return row
    return row.model_copy(
        update={"relation_pattern_evidence_rows": tuple(numbers.get(index, index) for index in evidence)}
    )


def _finding(severity: Severity, rule: str, identity: str, row: int, field: str, message: str) -> Finding:
    return replace(Finding(severity, rule, identity, row, field, message), suggestion="keep to the fields asked for")
