"""The one place that converts, rounds and compares times.

Time is seconds as float from the start of a conversation's clip. Milliseconds appear only where a file format demands
them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

__all__ = [
    "Interval",
    "Seconds",
    "TimeUnit",
    "format_clock",
    "merge",
    "parse_clock",
    "round_time",
    "to_ms",
    "to_seconds",
]

Seconds: TypeAlias = float

_LONGEST = 1_000_000.0
"""Seconds; more than eleven days is no recording but a slip."""

_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d*)?(?:[eE][+-]?\d{1,3})?|[+-]?[.,]\d+")
_CLOCK = re.compile(r"^(?:(?:(\d+):)?([0-5]?\d):)?([0-5]?\d(?:[.,]\d+)?)$")


def to_ms(seconds: Seconds) -> int:
    """Whole milliseconds, rounded once and half up, so that no carry is lost.

    Example:
        >>> to_ms(2.9997)
        3000
    """
    return math.floor(seconds * 1000 + 0.5)


def round_time(seconds: Seconds) -> Seconds:
    """Seconds rounded to the millisecond, the resolution of every stored time."""
    return to_ms(seconds) / 1000


def format_clock(seconds: Seconds, *, mark: str = ".") -> str:
    """``HH:MM:SS.mmm`` with the given decimal mark (SubRip uses a comma).

    Example:
        >>> format_clock(3599.9998, mark=",")
        '01:00:00,000'

    Raises:
        ValueError: If the time is negative or not finite.
    """
    if not math.isfinite(seconds) or seconds < 0:
        msg = f"a clock time must be finite and not negative, got {seconds}"
        raise ValueError(msg)
    minutes, ms = divmod(to_ms(seconds), 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{ms // 1000:02d}{mark}{ms % 1000:03d}"


def parse_clock(text: str) -> Seconds:
    """Seconds from ``[[HH:]MM:]SS[.mmm]``.

    Example:
        >>> parse_clock("01:02.500")
        62.5

    Raises:
        ValueError: If the text is no clock time.
    """
    match = _CLOCK.match(text.strip())
    if match is None:
        msg = f"{text!r} is not a time like 01:02:03.500"
        raise ValueError(msg)
    hours, minutes, seconds = match.groups()
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds.replace(",", "."))


class TimeUnit(StrEnum):
    """How a file of another tool writes times; always declared, never guessed."""

    SECONDS = "seconds"
    MILLISECONDS = "milliseconds"
    CLOCK = "clock"
    """``[[HH:]MM:]SS[.mmm]``"""


def to_seconds(value: str | float, unit: TimeUnit) -> Seconds:
    """Seconds from a value in a declared unit.

    Example:
        >>> to_seconds("4000", TimeUnit.MILLISECONDS)
        4.0

    Raises:
        ValueError: If it is no time of that unit, not finite, or longer than any recording.
    """
    if isinstance(value, str):
        text = value.strip()
        if unit is TimeUnit.CLOCK:
            seconds = parse_clock(text)
        elif _NUMBER.fullmatch(text):
            seconds = float(text.replace(",", "."))
        else:
            msg = f"{text[:40]!r} is not a number of {unit.value}"
            raise ValueError(msg)
    elif unit is TimeUnit.CLOCK:
        msg = f"{value} is a number, not a time like 01:02:03.500"
        raise ValueError(msg)
    else:
        # A whole number of a thousand digits has no float; it is refused like any other that is too long.
        seconds = float(value) if abs(value) < 1e300 else math.inf
    if unit is TimeUnit.MILLISECONDS:
        seconds /= 1000
    if not abs(seconds) < _LONGEST:
        msg = f"{str(value)[:40]} {unit.value} is longer than any recording"
        raise ValueError(msg)
    return seconds


@dataclass(frozen=True, order=True, slots=True)
class Interval:
    """A stretch of time, half open: ``start <= t < end``, in seconds.

    Example:
        >>> Interval(1.0, 3.0).overlap(Interval(2.5, 4.0))
        0.5
    """

    start: Seconds
    end: Seconds

    @property
    def duration(self) -> Seconds:
        """Length in seconds; never negative."""
        return max(0.0, self.end - self.start)

    @property
    def middle(self) -> Seconds:
        """The point half way."""
        return (self.start + self.end) / 2

    def overlap(self, other: Interval) -> Seconds:
        """Seconds that both share; 0 where they only touch."""
        return max(0.0, min(self.end, other.end) - max(self.start, other.start))

    def gap(self, other: Interval) -> Seconds:
        """Seconds between the two; 0 where they touch or overlap."""
        return max(0.0, max(self.start, other.start) - min(self.end, other.end))


def merge(intervals: Iterable[Interval], *, join_gap: Seconds = 0.0) -> list[Interval]:
    """The union of intervals, sorted; neighbours no further apart than ``join_gap`` seconds become one.

    Example:
        >>> merge([Interval(2, 3), Interval(0, 1), Interval(0.5, 1.5)])
        [Interval(start=0, end=1.5), Interval(start=2, end=3)]
    """
    merged: list[Interval] = []
    for interval in sorted(intervals):
        if merged and interval.start - merged[-1].end <= join_gap:
            merged[-1] = Interval(merged[-1].start, max(merged[-1].end, interval.end))
        else:
            merged.append(interval)
    return merged
