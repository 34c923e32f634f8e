"""Who said which word: recognised words and diarized stretches brought together.

Every word gets a speaker. A choice that was not plain is flagged on the word.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.settings import TurnSettings
from pipeline.speech.nist import SpeakerTurn
from pipeline.speech.words import Word
from pipeline.times import Interval, Seconds

__all__ = [
    "BORDER",
    "NEAREST",
    "NO_SPEAKER",
    "OVERLAPPED",
    "UNKNOWN",
    "SpokenWord",
    "attribute",
]

UNKNOWN = "unknown"
"""Stands for the speaker of words that no stretch is near."""

BORDER = "border"
"""The word lies at a change of speaker and follows its sentence."""
NEAREST = "nearest_speaker"
"""No stretch covers the word; it went to the nearest one."""
NO_SPEAKER = "no_speaker"
"""No stretch is near the word."""
OVERLAPPED = "overlapped"
"""Several people talk during the word."""

_SENTENCE_END = re.compile(r"[.?!\u2026][\"')\]]*$")
_REPLY_PAUSE: Seconds = 0.2
"""A pause before or after a word that lets it be a reply of its own."""
_CLEAR_SHARE = 0.8
"""Share of a reply that its own speaker alone must cover for it to stay separate."""
_BORDER_WORDS = 2
"""At most this many words at the start or end of a sentence, and one inside, are in doubt at a change of speaker.
Moving more breaks more than it mends (docs/reference/quality.md)."""
_TIE: Seconds = 0.01
"""Two speakers who talk equally long during a word, to this much, both talk through it."""


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A word and who said it."""

    word: Word
    index: int
    """Its place in the words table."""
    speaker: str
    flags: tuple[str, ...] = ()
    """How the speaker was chosen, where that was a guess."""

    def given_to(self, speaker: str, flag: str) -> SpokenWord:
        """The same word with another speaker, and why."""
        return replace(self, speaker=speaker, flags=tuple(sorted({*self.flags, flag})))


class _Stretches:
    """Diarized stretches, found by time."""

    def __init__(self, turns: Sequence[SpeakerTurn]) -> None:
        self._turns = sorted(turns)
        self._starts = [turn.start for turn in self._turns]
        self._reach: list[float] = []
        """Latest end among the stretches up to each: says how far back an overlap can lie."""
        for turn in self._turns:
            self._reach.append(max(turn.end, self._reach[-1] if self._reach else turn.end))

    def shares(self, interval: Interval) -> dict[str, Seconds]:
        """Seconds that each speaker talks inside an interval, by label."""
        found: dict[str, Seconds] = {}
        first = bisect_right(self._reach, interval.start)
        for turn in self._turns[first : bisect_left(self._starts, interval.end)]:
            seconds = turn.interval.overlap(interval)
            if seconds > 0:
                found[turn.speaker] = found.get(turn.speaker, 0.0) + seconds
        return found

    def changes(self, interval: Interval) -> list[Seconds]:
        """Times inside an interval at which a stretch starts or ends."""
        first = bisect_left(self._reach, interval.start)
        last = bisect_right(self._starts, interval.end)
        edges = (edge for turn in self._turns[first:last] for edge in (turn.start, turn.end))
        return [edge for edge in edges if interval.start <= edge <= interval.end]

    def nearest(self, interval: Interval, limit: Seconds) -> str | None:
        """The speaker of the closest stretch within ``limit`` seconds; of two equally close ones the earlier."""
        first = bisect_left(self._reach, interval.start - limit)
        last = bisect_right(self._starts, interval.end + limit)
        near = [(turn.interval.gap(interval), turn) for turn in self._turns[first:last]]
        near = [found for found in near if found[0] <= limit]
        return min(near)[1].speaker if near else None


def attribute(words: Sequence[Word], turns: Sequence[SpeakerTurn], settings: TurnSettings) -> list[SpokenWord]:
    """Give every word a speaker.

    A word goes to the speaker who talks most during it; where several talk throughout, to the one who talks in its
    sentence. A word that nobody covers goes to the nearest stretch within ``settings.nearest`` seconds, else to
    ``unknown``. Then words at a change of speaker, within ``settings.border`` seconds of it, follow their sentence,
    unless the word is a sentence of its own that its speaker clearly covers.

    Args:
        words: In order of time.
        turns: Diarized stretches, in any order; they may overlap.
        settings: The tolerances.
    """
    stretches = _Stretches(turns)
    spoken: list[SpokenWord] = []
    for first, last in _sentences(words, settings.pause):
        shares = [stretches.shares(_solid(word.interval)) for word in words[first:last]]
        totals: Counter[str] = Counter()
        for share in shares:
            totals.update(share)
        choices = [
            _choose(word, share, totals, stretches, settings.nearest)
            for word, share in zip(words[first:last], shares, strict=True)
        ]
        sentence = [
            SpokenWord(word, index, *choice)
            for index, (word, choice) in enumerate(zip(words[first:last], choices, strict=True), start=first)
        ]
        spoken.extend(_settle(sentence, shares, stretches, settings.border))
    return spoken


def _solid(interval: Interval) -> Interval:
    """A word without length still has a place."""
    return interval if interval.duration > 0 else Interval(interval.start, interval.start + 0.001)


def _choose(
    word: Word, share: Mapping[str, Seconds], sentence: Mapping[str, Seconds], stretches: _Stretches, limit: Seconds
) -> tuple[str, tuple[str, ...]]:
    """The speaker of a word by overlap, and a flag if that was a guess."""
    if not share:
        nearest = stretches.nearest(word.interval, limit)
        return (UNKNOWN, (NO_SPEAKER,)) if nearest is None else (nearest, (NEAREST,))
    most = max(share.values())
    tied = sorted(speaker for speaker, seconds in share.items() if most - seconds < _TIE)
    return max(tied, key=lambda speaker: sentence[speaker]), (OVERLAPPED,) if len(tied) > 1 else ()


def _sentences(words: Sequence[Word], pause: Seconds) -> list[tuple[int, int]]:
    """First and past-last position of each sentence: ended by a mark, the recogniser's own segment, or a pause.

    The pause is the one that ends a turn. Aligned words show the short pauses inside a sentence, and to end it there
    gives its halves to two people (docs/reference/quality.md).
    """
    borders = [
        position
        for position in range(1, len(words))
        if _SENTENCE_END.search(words[position - 1].text)
        or words[position].segment != words[position - 1].segment
        or words[position].start - words[position - 1].end >= pause
    ]
    return list(zip([0, *borders], [*borders, len(words)], strict=True)) if words else []


def _settle(
    sentence: list[SpokenWord], shares: Sequence[Mapping[str, Seconds]], stretches: _Stretches, border: Seconds
) -> list[SpokenWord]:
    """Give short runs at a change of speaker to the longer run beside them in the same sentence."""
    runs = _runs(sentence)
    for position, (first, last) in enumerate(runs):
        beside = runs[max(0, position - 1) : position] + runs[position + 1 : position + 2]
        host = max(beside, key=lambda run: run[1] - run[0], default=None)
        most = _BORDER_WORDS if position in {0, len(runs) - 1} else 1
        if host is None or last - first > most or host[1] - host[0] <= last - first:
            continue
        near = all(_is_near(word, stretches, border) for word in sentence[first:last])
        if near and not _is_reply(sentence, shares, first, last):
            speaker = sentence[host[0]].speaker
            sentence[first:last] = [word.given_to(speaker, BORDER) for word in sentence[first:last]]
    return sentence


def _runs(sentence: Sequence[SpokenWord]) -> list[tuple[int, int]]:
    borders = [p for p in range(1, len(sentence)) if sentence[p].speaker != sentence[p - 1].speaker]
    return list(zip([0, *borders], [*borders, len(sentence)], strict=True))


def _is_near(spoken: SpokenWord, stretches: _Stretches, border: Seconds) -> bool:
    middle = spoken.word.interval.middle
    return bool(stretches.changes(Interval(middle - border, middle + border)))


def _is_reply(sentence: Sequence[SpokenWord], shares: Sequence[Mapping[str, Seconds]], first: int, last: int) -> bool:
    """A pause on one side, and its own speaker alone over nearly all of it."""
    before = sentence[first].word.start - sentence[first - 1].word.end if first else 0.0
    after = sentence[last].word.start - sentence[last - 1].word.end if last < len(sentence) else 0.0
    length = sum(spoken.word.interval.duration for spoken in sentence[first:last])
    own = sum(shares[position].get(sentence[position].speaker, 0.0) for position in range(first, last))
    return max(before, after) >= _REPLY_PAUSE and length > 0 and own / length >= _CLEAR_SHARE
