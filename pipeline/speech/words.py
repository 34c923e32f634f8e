"""Recognised words, and the rules that repair their times.

A recogniser leaves words without times, with times that run backwards, or stretched across pauses. Every rule here
keeps the word and its place in the text, repairs only its times, and leaves a flag.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipeline.times import Interval, Seconds, merge, round_time

__all__ = [
    "BACKWARDS",
    "INTERPOLATED",
    "INVALID_TIMES",
    "SUSPECTED_LOOP",
    "TRIMMED",
    "RawWord",
    "Word",
    "is_suspected",
    "repair",
    "share_room",
    "word_of",
]

BACKWARDS = "backwards"
"""The recogniser placed the word before an earlier one; its times are interpolated."""
INTERPOLATED = "interpolated"
"""The recogniser gave no usable times; they come from the neighbours."""
INVALID_TIMES = "invalid_times"
"""The recogniser's times were negative, ended before they began or lay outside the recording."""
TRIMMED = "trimmed"
"""The word was stretched across a pause and is cut to where speech is."""
SUSPECTED_LOOP = "suspected_loop"
"""Prefix of the flags of words that the recogniser may have invented; the rule follows after a colon."""

_USUAL_WORD: Seconds = 0.3
"""Length given to a word without times at the edge of the text."""


@dataclass(frozen=True, slots=True)
class RawWord:
    """A word as a recogniser gives it."""

    text: str
    start: Seconds | None
    end: Seconds | None
    segment: int
    """Sentence-like unit, from 0."""
    confidence: float | None = None
    """0 to 1."""
    time_source: str = "attention"
    """Where its times come from: ``attention``, ``alignment`` or ``subtitle``."""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Word:
    """A word with usable times: ``0 <= start <= end``."""

    text: str
    start: Seconds
    end: Seconds
    segment: int = 0
    confidence: float | None = None
    time_source: str = "attention"
    """``attention``, ``alignment``, ``subtitle`` or ``interpolated``."""
    flags: tuple[str, ...] = ()

    @property
    def interval(self) -> Interval:
        """Where the word lies."""
        return Interval(self.start, self.end)

    def flagged(self, *flags: str) -> Word:
        """The same word with more flags, sorted, each once."""
        return replace(self, flags=tuple(sorted({*self.flags, *flags})))

    def to_row(self, index: int) -> dict[str, Any]:
        """The word as a row of `pipeline.schemas.WORDS`."""
        return {
            "word_index": index,
            "text": self.text,
            "start": round_time(self.start),
            "end": round_time(self.end),
            "confidence": self.confidence,
            "time_source": self.time_source,
            "segment": self.segment,
            "flags": list(self.flags),
        }


def word_of(row: Mapping[str, Any]) -> Word:
    """A word from a row of `pipeline.schemas.WORDS`."""
    return Word(
        text=row["text"],
        start=row["start"],
        end=row["end"],
        segment=row["segment"],
        confidence=row["confidence"],
        time_source=row["time_source"],
        flags=tuple(row["flags"]),
    )


def is_suspected(word: Word) -> bool:
    """Whether the recogniser may have invented the word."""
    return any(flag.startswith(SUSPECTED_LOOP) for flag in word.flags)


def repair(
    words: Iterable[RawWord],
    *,
    duration: Seconds,
    max_word: Seconds,
    speech: Sequence[Interval] | None = None,
) -> list[Word]:
    """Words with usable times, in the order of the text, which is then also the order of time.

    Args:
        words: In the order of the text within a segment; segments in any order.
        duration: Length of the recording.
        max_word: A longer word was stretched across a pause.
        speech: Where there is voice, if known.
    """
    ordered = _in_segment_order(words)
    checked = [_checked(word, duration) for word in ordered]
    kept = _kept_order(checked)
    timed = _interpolated(kept, duration, max_word)
    regions = merge(speech) if speech is not None else None
    return [_trimmed(timed, position, max_word, regions) for position in range(len(timed))]


def _in_segment_order(words: Iterable[RawWord]) -> list[RawWord]:
    """Segments by their first time; a segment without any keeps its place behind the one before it."""
    segments: dict[int, list[RawWord]] = {}
    for word in words:
        segments.setdefault(word.segment, []).append(word)
    starts: dict[int, float] = {}
    latest = 0.0
    for number, members in segments.items():
        valid = [word.start for word in members if _is_valid(word) and word.start is not None]
        latest = valid[0] if valid else latest
        starts[number] = latest
    order = sorted(segments, key=lambda number: starts[number])
    return [replace(word, segment=position) for position, number in enumerate(order) for word in segments[number]]


def _is_valid(word: RawWord) -> bool:
    times = (word.start, word.end)
    return all(time is not None and math.isfinite(time) for time in times) and times[0] <= times[1]  # type: ignore[operator]


def _checked(word: RawWord, duration: Seconds) -> RawWord:
    """Times inside the recording, or none."""
    if word.start is None or word.end is None:
        return replace(word, start=None, end=None)
    if not _is_valid(word) or word.end <= 0 or word.start >= duration:
        return replace(word, start=None, end=None, flags=(*word.flags, INVALID_TIMES))
    if word.start < 0 or word.end > duration:
        # A recogniser's window may reach a little past the end; that is no fault worth a flag.
        flags = word.flags if word.start >= 0 and word.end <= duration + 0.1 else (*word.flags, INVALID_TIMES)
        return replace(word, start=max(0.0, word.start), end=min(duration, word.end), flags=flags)
    return word


def _kept_order(words: list[RawWord]) -> list[RawWord]:
    """Times run forwards: those outside the longest run of non-decreasing starts are dropped."""
    timed = [position for position, word in enumerate(words) if word.start is not None]
    keep = {timed[item] for item in _longest_rising([words[position].start for position in timed])}  # type: ignore[misc]
    return [
        word
        if word.start is None or position in keep
        else replace(word, start=None, end=None, flags=(*word.flags, BACKWARDS))
        for position, word in enumerate(words)
    ]


def _longest_rising(values: Sequence[float]) -> list[int]:
    """Positions of the longest non-decreasing subsequence (patience sorting)."""
    tails: list[float] = []
    positions: list[int] = []
    before: list[int] = []
    for position, value in enumerate(values):
        length = bisect_right(tails, value)
        before.append(positions[length - 1] if length else -1)
        if length == len(tails):
            tails.append(value)
            positions.append(position)
        else:
            tails[length] = value
            positions[length] = position
    found: list[int] = []
    position = positions[-1] if positions else -1
    while position >= 0:
        found.append(position)
        position = before[position]
    return found[::-1]


def _interpolated(words: list[RawWord], duration: Seconds, max_word: Seconds) -> list[Word]:
    """Times for words that have none: the room between the neighbours, shared by length of text."""
    done: list[Word] = []
    position = 0
    while position < len(words):
        word = words[position]
        if word.start is not None and word.end is not None:
            flags = tuple(sorted(set(word.flags)))
            done.append(Word(word.text, word.start, word.end, word.segment, word.confidence, word.time_source, flags))
            position += 1
            continue
        stop = position
        while stop < len(words) and words[stop].start is None:
            stop += 1
        run = words[position:stop]
        before = done[-1] if done else None
        after = words[stop] if stop < len(words) else None
        room = _room(run, before, after, duration, max_word)
        done.extend(share_room(run, room))
        position = stop
    return done


def _room(
    run: Sequence[RawWord], before: Word | None, after: RawWord | None, duration: Seconds, max_word: Seconds
) -> Interval:
    """Where a run of words without times may lie."""
    usual = _USUAL_WORD * len(run)
    left = before.end if before else None
    right = after.start if after else None
    if left is None and right is None:
        return Interval(0.0, min(duration, usual))
    if left is None:
        return Interval(max(0.0, right - usual), right)  # type: ignore[operator,arg-type]
    if right is None:
        return Interval(min(left, duration), min(duration, left + usual))
    if right <= left:  # no room: the border itself
        return Interval(right, right)
    longest = max_word * len(run)
    if right - left > longest:  # a pause: the words stay with their own sentence
        follows = before is not None and before.segment == run[0].segment
        return Interval(left, left + longest) if follows else Interval(right - longest, right)
    return Interval(left, right)


def share_room(run: Sequence[RawWord], room: Interval) -> list[Word]:
    """Words without times, one after the other in a stretch of time, each as long as its text."""
    total = sum(max(1, len(word.text)) for word in run)
    done = []
    passed = 0
    for word in run:
        start = room.start + room.duration * passed / total
        passed += max(1, len(word.text))
        end = room.start + room.duration * passed / total
        flags = tuple(sorted({*word.flags, INTERPOLATED}))
        done.append(Word(word.text, start, end, word.segment, word.confidence, INTERPOLATED, flags))
    return done


def _trimmed(words: Sequence[Word], position: int, max_word: Seconds, speech: Sequence[Interval] | None) -> Word:
    """A word no longer than ``max_word``: cut to speech first, then to the side of its nearer neighbour."""
    word = words[position]
    if word.end - word.start <= max_word:
        return word
    following = words[position + 1].start if position + 1 < len(words) else math.inf
    interval = Interval(word.start, min(word.end, following))
    before = word.start - words[position - 1].end if position else math.inf
    keep_end = following - interval.end <= before
    pieces = [Interval(max(interval.start, region.start), min(interval.end, region.end)) for region in speech or ()]
    pieces = [piece for piece in pieces if piece.duration > 0]
    if pieces:
        interval = pieces[-1] if keep_end else pieces[0]
    if interval.duration > max_word:
        interval = (
            Interval(interval.end - max_word, interval.end)
            if keep_end
            else Interval(interval.start, interval.start + max_word)
        )
    return replace(word, start=interval.start, end=interval.end).flagged(TRIMMED)
