"""Tiers to rows and back: what ELAN and Praat share.

A tier holds one field of one speaker; its name is ``<field>@<speaker>``. A speaker whose rows overlap has several
lanes, ``<field>@<speaker>#2``, since spans of one tier may not overlap.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.annotation.formats.base import Context, Imported, LeftOut, RawRow, Source
from pipeline.annotation.formats.cells import FIELDS, NAMES, NUMBERS, TIMES, cell_of, in_row, value_of
from pipeline.annotation.model import RECORDS, Annotation, Row
from pipeline.store import Json
from pipeline.times import Seconds, to_ms

__all__ = ["DEPENDENT", "Lane", "Span", "Tier", "lanes_of", "numbered", "rows_of"]

_TEXT = "dialogue_cleaned"
_LANE = re.compile(r"#\d+$")
DEPENDENT = tuple(name for name in FIELDS if name not in {*TIMES, "primary_speaker", _TEXT})
"""The fields that get a tier of their own beside the text."""


@dataclass(frozen=True)
class Span:
    """One annotation of a tier."""

    id: str
    start: Seconds
    end: Seconds
    text: str
    parent: str | None = None
    """Id of the span that it belongs to, where the format says so."""


@dataclass(frozen=True)
class Tier:
    """A tier as a file holds it."""

    name: str
    spans: tuple[Span, ...]
    participant: str | None = None
    parent: str | None = None
    """Name of the tier that it depends on."""

    @property
    def lane(self) -> str:
        """What the tiers of one speaker's lane share: the part after the first ``@``, else the whole name."""
        head, mark, tail = self.name.partition("@")
        return tail if mark and head else self.name


@dataclass
class Lane:
    """Rows of one speaker that do not overlap, and the cells of their other fields."""

    speaker: str
    name: str
    rows: list[Row] = field(default_factory=list)
    end: int = -1

    def cells(self, name: str) -> Iterator[tuple[Row, str]]:
        """Each row that has something in a field, with its text."""
        for row in self.rows:
            cell = cell_of(name, row.model_dump(mode="json")[name])
            if cell is not None:
                yield row, cell


def lanes_of(annotation: Annotation) -> list[Lane]:
    """The rows by speaker, each speaker in as many lanes as overlap asks for.

    Rows that last less than a millisecond are in none: no tier can hold them.
    """
    by_speaker: dict[str, list[Lane]] = {}
    for row in sorted(annotation.rows, key=lambda row: (row.start_time, row.end_time, row.row_index)):
        start, end = to_ms(row.start_time), to_ms(row.end_time)
        if start < 0 or end <= start:
            continue
        lanes = by_speaker.setdefault(row.primary_speaker, [])
        lane = next((lane for lane in lanes if lane.end <= start), None)
        if lane is None:
            number = len(lanes) + 1
            plain = number == 1 and not _LANE.search(row.primary_speaker)
            lane = Lane(row.primary_speaker, row.primary_speaker if plain else f"{row.primary_speaker}#{number}")
            lanes.append(lane)
        lane.rows.append(row)
        lane.end = end
    return [lane for lanes in by_speaker.values() for lane in lanes]


def rows_of(tiers: Sequence[Tier], source: Source, context: Context) -> Imported:
    """Rows from tiers.

    A span of a dependent tier goes to the row it refers to, over any number of levels; without a reference, to the row
    of the same lane at the same time, else to the one that contains it.

    Raises:
        InputError: If no tier holds the text.
    """
    imported = Imported()
    fields = {tier.name: _field_of(tier, context) for tier in tiers}
    texts = [tier for tier in tiers if fields[tier.name] == _TEXT]
    if not texts:
        raise _no_text(tiers, source)
    rows: dict[str, dict[str, Json]] = {}
    lanes: dict[str, list[tuple[Span, dict[str, Json]]]] = {}
    for tier in texts:
        _add_rows(tier, context, imported, rows, lanes)
    parents = {span.id: span.parent for tier in tiers for span in tier.spans}
    by_lane = {lane: _ByTime(spans) for lane, spans in lanes.items()}
    for tier in tiers:
        name = fields[tier.name]
        if name == _TEXT:
            continue
        if name is None:
            ignored = context.mapping.ignores(tier.name)
            reason = "ignored by the mapping" if ignored else "no field is named for this tier"
            imported.left_out += [LeftOut(f"tier {tier.name}", reason, count=len(tier.spans))] if tier.spans else []
            continue
        for span in tier.spans:
            values = _referred(span, parents, rows)
            if values is None and span.parent is None:
                values = _at(span, tier, by_lane)
            _add_value(values, name, span, tier, context, imported)
    imported.rows = _ordered(rows, tiers)
    return imported


def _add_rows(
    tier: Tier,
    context: Context,
    imported: Imported,
    rows: dict[str, dict[str, Json]],
    lanes: dict[str, list[tuple[Span, dict[str, Json]]]],
) -> None:
    written = tier.participant or _LANE.sub("", tier.lane)
    speaker = context.speaker(written)
    if speaker == written == tier.name and context.mapping.speaker and speaker not in context.entities:
        speaker = context.mapping.speaker
    for span in tier.spans:
        if not span.text.strip():
            imported.left_out.append(LeftOut(_place(tier, span), "it is empty"))
        elif span.end <= span.start:
            imported.left_out.append(LeftOut(_place(tier, span), "it does not end after its start", span.text))
        else:
            values: dict[str, Json] = {
                "start_time": span.start,
                "end_time": span.end,
                "primary_speaker": speaker,
                _TEXT: value_of(_TEXT, span.text),
            }
            rows[span.id] = values
            for key in {tier.lane, tier.name}:
                lanes.setdefault(key, []).append((span, values))


def _field_of(tier: Tier, context: Context) -> str | None:
    if context.mapping.ignores(tier.name):
        return None
    said = context.mapping.field_of(tier.name)
    if said is not None:
        return said
    head, mark, tail = tier.name.partition("@")
    if mark and tail and head in FIELDS:
        return head
    # A tier named after a person is what that person says: the usual way in Praat.
    is_person = not context.mapping.fields and tier.parent is None and tier.name.casefold() in context.known
    return _TEXT if is_person else None


def _no_text(tiers: Sequence[Tier], source: Source) -> Exception:
    listed = ", ".join(f"{tier.name} ({len(tier.spans)})" for tier in tiers[:12]) or "none"
    more = f" and {len(tiers) - 12} more" if len(tiers) > 12 else ""
    msg = f"no tier is known to hold what is said; the tiers are {listed}{more}"
    first = tiers[0].name if tiers else "NAME"
    hint = (
        f"name them in a mapping file, `fields: {{{_TEXT}: [{first!r}]}}` (docs/how-to/annotation-tools.md), or list "
        "the people as `participants:` where tiers bear their names"
    )
    return source.error(msg, hint=hint)


def _referred(
    span: Span, parents: Mapping[str, str | None], rows: dict[str, dict[str, Json]]
) -> dict[str, Json] | None:
    seen: set[str] = set()
    parent = span.parent
    while parent is not None and parent not in seen:
        if parent in rows:
            return rows[parent]
        seen.add(parent)
        parent = parents.get(parent)
    return None


class _ByTime:
    """The rows of a lane, to be found by time."""

    def __init__(self, spans: Iterable[tuple[Span, dict[str, Json]]]) -> None:
        self._spans = sorted(spans, key=lambda pair: (pair[0].start, pair[0].end))
        self._starts = [to_ms(span.start) for span, _ in self._spans]

    def find(self, span: Span) -> dict[str, Json] | None:
        """The row at the same time, else the last one that contains the span."""
        start, end = to_ms(span.start), to_ms(span.end)
        last = bisect_right(self._starts, start)
        holding = [pair for pair in self._spans[max(0, last - 50) : last] if to_ms(pair[0].end) >= end]
        same = [pair for pair in holding if (to_ms(pair[0].start), to_ms(pair[0].end)) == (start, end)]
        found = same or holding
        return found[-1][1] if found else None


def _at(span: Span, tier: Tier, by_lane: Mapping[str, _ByTime]) -> dict[str, Json] | None:
    for key in (tier.lane, tier.participant, tier.parent):
        lane = by_lane.get(key) if key else None
        if lane is not None:
            return lane.find(span)
    # A tier that belongs to nobody in particular may describe the only speaker tier there is.
    return next(iter(by_lane.values())).find(span) if len(by_lane) == 1 else None


def _add_value(
    values: dict[str, Json] | None, name: str, span: Span, tier: Tier, context: Context, imported: Imported
) -> None:
    if not span.text.strip():
        imported.left_out.append(LeftOut(_place(tier, span), "it is empty"))
        return
    if values is None:
        imported.left_out.append(LeftOut(_place(tier, span), "there is no row it belongs to", span.text))
        return
    try:
        value = value_of(name, span.text, separator=context.mapping.separator)
    except ValueError as error:
        imported.left_out.append(LeftOut(_place(tier, span), str(error), span.text))
        return
    before = values.get(name)
    if before is None:
        values[name] = value
    elif isinstance(before, list) and isinstance(value, list) and name in {*NAMES, *NUMBERS, *RECORDS}:
        values[name] = before + value
    elif isinstance(before, str) and isinstance(value, str):
        values[name] = f"{before} {value}"
    else:
        imported.left_out.append(LeftOut(_place(tier, span), f"the row has a {name} already", span.text))


def _ordered(rows: dict[str, dict[str, Json]], tiers: Sequence[Tier]) -> list[RawRow]:
    names = {span.id: tier.name for tier in tiers for span in tier.spans}
    return numbered((f"tier {names[span]}, annotation {span}", values) for span, values in rows.items())


def numbered(found: Iterable[tuple[str, dict[str, Json]]]) -> list[RawRow]:
    """Rows in the order of time, or of the numbers they bring.

    Numbers are kept only if they are whole: a file that was edited elsewhere has rows without one.
    """
    rows = sorted(found, key=lambda item: (item[1]["start_time"], item[1]["end_time"]))
    numbers = [values.pop("row_index", None) for _, values in rows]
    if all(isinstance(number, str) and number.isascii() and number.isdigit() and len(number) < 9 for number in numbers):
        kept = [int(number) for number in numbers]
        if sorted(kept) == list(range(1, len(kept) + 1)):
            rows = [row for _, row in sorted(zip(kept, rows, strict=True), key=lambda item: item[0])]
    return [
        RawRow(place, in_row({"row_index": position, "dialogue_cleaned": "", **values}))
        for position, (place, values) in enumerate(rows, start=1)
    ]


def _place(tier: Tier, span: Span) -> str:
    return f"tier {tier.name}, annotation {span.id}"
