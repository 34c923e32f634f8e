"""Praat TextGrid, written with praatio, read here.

Praat's text files are free-standing tokens: numbers, quoted texts, and flags in angle brackets; everything else is
comment (manual page "TextGrid file formats"). So one reader takes the long and the short form. praatio's own reader is
not used: it splits the long form at words that may stand in a label, ends the short form without a word where a file is
cut off, and takes the doubled quotation marks of a point's label for text.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from pipeline.annotation.formats.base import Context, Format, Imported, LeftOut, Source
from pipeline.annotation.formats.tiers import DEPENDENT, Span, Tier, lanes_of, rows_of
from pipeline.annotation.model import Annotation, Row
from pipeline.extras import load
from pipeline.times import Seconds, TimeUnit, round_time, to_seconds

__all__ = ["TextGridFormat"]

# A number only counts where it stands free: the 2 of `intervals [2]` does not.
_TOKEN = re.compile(r'"(?:[^"]|"")*"|<exists>|<absent>|(?<![^\s])[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d{1,3})?(?=\s|$)')
_MAX_TIERS = 10_000


class TextGridFormat(Format):
    """One interval tier for each field of each speaker; values belong together by their times."""

    name: ClassVar[str] = "textgrid"
    title: ClassVar[str] = "Praat TextGrid"
    suffixes: ClassVar[tuple[str, ...]] = (".TextGrid",)

    def read(self, source: Source, context: Context) -> Imported:
        """The rows of a TextGrid in either form and any encoding Praat writes."""
        tiers, points = _read(source)
        imported = rows_of(tiers, source, context)
        imported.left_out += [
            LeftOut(f"tier {name}", "points have no length; only intervals become rows or fields", count=count)
            for name, count in points.items()
            if count
        ]
        return imported

    def write(self, annotation: Annotation, *, media: str | None = None) -> bytes:
        """A TextGrid in the long form, UTF-8, times to the millisecond."""
        textgrid = load("praatio.textgrid", "formats")
        del media
        lanes = lanes_of(annotation)
        end = max((round_time(row.end_time) for row in annotation.rows), default=1.0)
        grid = textgrid.Textgrid(0, max(end, 0.001))
        for lane in lanes:
            for field in ("dialogue_cleaned", *DEPENDENT):
                entries = [_entry(row, cell) for row, cell in lane.cells(field)]
                if entries:
                    name = f"{field}@{lane.name}"
                    grid.addTier(textgrid.IntervalTier(name, entries, 0, max(end, 0.001)), reportingMode="silence")
        if not lanes:
            grid.addTier(textgrid.IntervalTier("dialogue_cleaned@Therapist", [], 0, end), reportingMode="silence")
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "out.TextGrid"
            grid.save(str(target), format="long_textgrid", includeBlankSpaces=True, reportingMode="silence")
            return target.read_bytes()


def _entry(row: Row, cell: str) -> tuple[Seconds, Seconds, str]:
    return round_time(row.start_time), round_time(row.end_time), cell


class _Tokens:
    """Numbers and texts of the file, one after the other."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._found = _TOKEN.finditer(source.text)
        self.at = 0

    def _next(self, wanted: str) -> str:
        match = next(self._found, None)
        if match is None:
            msg = f"the file ends where {wanted} belongs"
            raise self._source.error(msg, hint="it is cut off: save it again in Praat")
        self.at = match.start()
        return match[0]

    def _refuse(self, found: str, wanted: str) -> Exception:
        line = self._source.text.count("\n", 0, self.at) + 1
        msg = f"there is {found[:30]!r} where {wanted} belongs"
        return self._source.error(msg, place=f"line {line}", hint="save it again in Praat as a text file")

    def text(self, wanted: str) -> str:
        """A quoted text."""
        found = self._next(wanted)
        if not found.startswith('"'):
            raise self._refuse(found, wanted)
        return found[1:-1].replace('""', '"')

    def flag(self, wanted: str) -> str:
        """A flag in angle brackets."""
        found = self._next(wanted)
        if not found.startswith("<"):
            raise self._refuse(found, wanted)
        return found

    def number(self, wanted: str) -> float:
        """A number; Praat's ``-0`` is 0."""
        found = self._next(wanted)
        try:
            return to_seconds(float(found), TimeUnit.SECONDS) + 0.0
        except ValueError as error:
            raise self._refuse(found, wanted) from error

    def count(self, wanted: str, most: int) -> int:
        """A whole number, not negative."""
        found = self.number(wanted)
        if not (found == math.floor(found) and 0 <= found <= most):
            raise self._refuse(f"{found:g}", wanted)
        return int(found)


def _read(source: Source) -> tuple[list[Tier], dict[str, int]]:
    """The interval tiers, and the point tiers by name with their number of points."""
    if "ooTextFile" not in source.text[:200]:
        msg = "the file does not begin as a Praat text file"
        hint = "a binary TextGrid is not read: save it in Praat as a text file"
        raise source.error(msg, hint=hint)
    tokens = _Tokens(source)
    tokens.text("the file type")
    kind = tokens.text("the object class")
    if kind != "TextGrid":
        msg = f"the file is a Praat {kind[:40]}, not a TextGrid"
        raise source.error(msg, hint="save the TextGrid alone, not a collection or another object")
    tokens.number("the start of the file")
    tokens.number("the end of the file")
    if tokens.flag("<exists>") == "<absent>":
        return [], {}
    tiers: list[Tier] = []
    points: dict[str, int] = {}
    names: set[str] = set()
    for position in range(tokens.count("the number of tiers", _MAX_TIERS)):
        kind, name = tokens.text("the class of a tier"), tokens.text("the name of a tier")
        # Praat allows a name twice; here each tier needs its own.
        name = name if name not in names else f"{name} ({position + 1})"
        names.add(name)
        tokens.number("the start of a tier")
        tokens.number("the end of a tier")
        size = tokens.count("the size of a tier", len(source.text))
        if kind == "IntervalTier":
            tiers.append(Tier(name, tuple(_intervals(tokens, name, size))))
        elif kind == "TextTier":
            for _ in range(size):
                tokens.number("the time of a point")
                tokens.text("the mark of a point")
            points[name] = size
        else:
            msg = f"tier {name!r} has the unknown class {kind[:40]!r}"
            raise source.error(msg, hint="save it again in Praat")
    return tiers, points


def _intervals(tokens: _Tokens, tier: str, size: int) -> Iterator[Span]:
    for position in range(1, size + 1):
        start = tokens.number("the start of an interval")
        end = tokens.number("the end of an interval")
        text = tokens.text("the text of an interval")
        # Praat fills the time between labels with empty intervals; they say nothing.
        if text.strip():
            yield Span(f"{tier}:{position}", start, end, text)
