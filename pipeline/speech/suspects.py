"""Words that the recogniser may have invented.

Such text carries high confidence; only structure gives it away. Suspected words stay in ``words.parquet`` with a flag
that names the rule, and stay out of the turns until a person confirms them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.speech.words import SUSPECTED_LOOP, Word
from pipeline.times import Interval, merge

__all__ = ["OVER_SILENCE", "REPEATED", "STOCK_PHRASE", "mark_suspects", "plain"]

REPEATED = f"{SUSPECTED_LOOP}:repeated"
"""The same words again and again."""
OVER_SILENCE = f"{SUSPECTED_LOOP}:silence"
"""Words where there is no voice."""
STOCK_PHRASE = f"{SUSPECTED_LOOP}:stock_phrase"
"""A phrase from the recogniser's training data that it writes over noise."""

_LONGEST_PHRASE = 20
"""Words of the longest phrase that is looked for."""
_MIN_REPEATS = 4
_MIN_REPEATED_WORDS = 16
"""Together: people do say "no, no, no, no" and "I don't know" three times; nobody says a sentence of four words four
times in a row without a word between."""
_VOICED_SHARE = 0.1
"""Share of a segment that must be voice."""
_STOCK_VOICED_SHARE = 0.5
_STOCK_PHRASES = frozenset(
    {
        "thank you for watching",
        "thanks for watching",
        "please subscribe",
        "please subscribe to my channel",
        "subtitles by the amara org community",
        "transcribed by https otter ai",
    }
)


def plain(text: str) -> str:
    """Lower case, words only: the form in which repetition is looked for."""
    return " ".join(re.findall(r"[\w']+", text.lower()))


def mark_suspects(words: Sequence[Word], speech: Sequence[Interval] | None) -> list[Word]:
    """The same words, with flags on those that may be invented.

    Args:
        words: In order of time.
        speech: Where there is voice; None if unknown, then the rules about silence say nothing.
    """
    flags: list[set[str]] = [set() for _ in words]
    for position in _repeated([plain(word.text) for word in words]):
        flags[position].add(REPEATED)
    if speech is not None:
        regions = merge(speech)
        for first, last in _segments(words):
            rule = _silence_rule(words[first:last], regions)
            if rule:
                for position in range(first, last):
                    flags[position].add(rule)
    return [word.flagged(*found) if found else word for word, found in zip(words, flags, strict=True)]


def _repeated(texts: Sequence[str]) -> set[int]:
    """Positions inside a phrase that repeats without a break."""
    found: set[int] = set()
    for size in range(1, min(_LONGEST_PHRASE, len(texts) // 2) + 1):
        start = 0
        while start + size < len(texts):
            end = start
            while end + size < len(texts) and texts[end] == texts[end + size]:
                end += 1
            length = end - start + size if end > start else 0
            repeats = length // size
            if repeats >= _MIN_REPEATS and repeats * size >= _MIN_REPEATED_WORDS:
                found.update(range(start, start + length))
            start = end + 1
    return found


def _segments(words: Sequence[Word]) -> list[tuple[int, int]]:
    borders = [position for position in range(1, len(words)) if words[position].segment != words[position - 1].segment]
    return list(zip([0, *borders], [*borders, len(words)], strict=True)) if words else []


def _silence_rule(segment: Sequence[Word], speech: Sequence[Interval]) -> str | None:
    total = sum(word.interval.duration for word in segment)
    voiced = sum(word.interval.overlap(region) for word in segment for region in speech)
    share = voiced / total if total > 0 else 1.0
    if share < _VOICED_SHARE:
        return OVER_SILENCE
    if share < _STOCK_VOICED_SHARE and plain(" ".join(word.text for word in segment)) in _STOCK_PHRASES:
        return STOCK_PHRASE
    return None
