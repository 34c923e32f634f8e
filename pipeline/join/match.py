"""Which recognised words belong to which annotation row.

Two passes. The first aligns all words of all rows with all recognised words, in order, by edit distance on the text
alone, and fits a line from annotated to recognised time through what surely matches. Where that line can be trusted,
the second pass puts the words of all rows in the order in which they should be heard, aligns again near the line only,
and fills the gaps: so rows may overlap, stand out of order, or repeat a phrase.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from pipeline.annotation.model import Row
from pipeline.times import Interval, Seconds

__all__ = ["Alignment", "HeardWord", "RowMatch", "TimeMap", "align", "tokens"]

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_SIMILAR = 60.0
"""Similarity in percent from which two different words count as one that was misheard."""
_POOR = 0.5
"""Share of matched words up to which a row is no anchor."""
_REACH = 2.0
"""Seconds around its expected place in which a row's words may lie."""
_MIN_ANCHORS = 4
_MAX_SPREAD = 1.5
"""Median distance of the anchors from the line, in seconds, up to which time is trusted."""
_MAX_FIT = 400
"""The slope is fitted over pairs of anchors; more than this add cost and no precision."""


@dataclass(frozen=True)
class HeardWord:
    """A recognised word, as the ``words`` table holds it."""

    word_index: int
    text: str
    start: Seconds
    end: Seconds
    confidence: float | None = None
    speaker: str | None = None


@dataclass(frozen=True)
class TimeMap:
    """Recognised time as a line over annotated time: ``heard = offset + (1 + drift) * annotated``."""

    offset: Seconds = 0.0
    drift: float = 0.0
    """Relative: 0.04 where the recording runs 4 % slower than the annotation."""
    anchors: int = 0
    spread: Seconds | None = None
    """Median distance of the anchors from the line."""

    @property
    def trusted(self) -> bool:
        """Whether enough places agree."""
        return self.anchors >= _MIN_ANCHORS and self.spread is not None and self.spread <= _MAX_SPREAD

    def heard(self, annotated: Seconds) -> Seconds:
        """Where an annotated time lies in the recording."""
        return self.offset + (1 + self.drift) * annotated


@dataclass(frozen=True)
class RowMatch:
    """What was found of one row."""

    row_index: int
    tokens: int
    """Words of the row's text."""
    pairs: tuple[tuple[int, int], ...] = ()
    """Position in the row's words, position among the recognised words; rising in both."""

    @property
    def share(self) -> float:
        """Matched words of the row, 0..1; 0 for a row without words."""
        return len(self.pairs) / self.tokens if self.tokens else 0.0


@dataclass(frozen=True)
class Alignment:
    """Rows, the recognised words, and how they meet."""

    rows: tuple[RowMatch, ...]
    words: tuple[HeardWord, ...]
    time_map: TimeMap

    def words_of(self, match: RowMatch) -> list[HeardWord]:
        """The matched words of a row, in order."""
        return [self.words[position] for _, position in match.pairs]


def tokens(text: str) -> list[str]:
    r"""Words for comparison: lower case, no punctuation, one kind of apostrophe, no ``[NOTES]``.

    Example:
        >>> tokens("Don\u2019t. [CHUCKLES] Well\u2014no!")
        ["don't", 'well', 'no']
    """
    plain = unicodedata.normalize("NFKC", re.sub(r"\[[^\]]*\]", " ", text)).replace("\u2019", "'").casefold()
    return _TOKEN.findall(plain)


def align(rows: Sequence[Row], words: Iterable[HeardWord]) -> Alignment:
    """Align the rows of an annotation with recognised words.

    A recognised word is used at most once, and the words of a row are in order. Cost grows with the product of both
    lengths divided by the machine's word size, so minutes of speech take milliseconds.
    """
    heard = tuple(word for word in words if tokens(word.text))
    texts = [tokens(row.dialogue_cleaned) for row in rows]
    first = _by_text(rows, texts, heard)
    time_map = _fit(rows, first, heard)
    final = _by_time(rows, texts, heard, time_map) if time_map.trusted else first
    return Alignment(tuple(final), heard, _fit(rows, final, heard) if time_map.trusted else time_map)


def _by_text(rows: Sequence[Row], texts: Sequence[list[str]], heard: Sequence[HeardWord]) -> list[RowMatch]:
    owner = [(position, place) for position, text in enumerate(texts) for place in range(len(text))]
    pairs: dict[int, list[tuple[int, int]]] = {}
    for said, word in _pairs([token for text in texts for token in text], [_key(word) for word in heard]):
        position, place = owner[said]
        pairs.setdefault(position, []).append((place, word))
    return [
        RowMatch(row.row_index, len(texts[position]), tuple(pairs.get(position, ())))
        for position, row in enumerate(rows)
    ]


def _pairs(said: Sequence[str], heard: Sequence[str]) -> Iterable[tuple[int, int]]:
    """Positions of words that are the same, or alike enough to be one word misheard, on the cheapest alignment."""
    for step in Levenshtein.opcodes(said, heard):
        if step.tag == "equal":
            yield from zip(range(step.src_start, step.src_end), range(step.dest_start, step.dest_end), strict=True)
        elif step.tag == "replace":
            for one, two in zip(
                range(step.src_start, step.src_end), range(step.dest_start, step.dest_end), strict=True
            ):
                if fuzz.ratio(said[one], heard[two]) >= _SIMILAR:
                    yield one, two


def _key(word: HeardWord) -> str:
    return "".join(tokens(word.text))


def _fit(rows: Sequence[Row], matches: Sequence[RowMatch], heard: Sequence[HeardWord]) -> TimeMap:
    """The line through starts and ends of rows whose first or last word was surely found.

    Theil-Sen: the median slope over pairs, which bears almost a third of wrong matches.
    """
    annotated, found = [], []
    for row, match in zip(rows, matches, strict=True):
        if match.share <= _POOR or match.tokens < 2:
            continue
        places = dict(match.pairs)
        if 0 in places and 1 in places:
            annotated.append(row.start_time)
            found.append(heard[places[0]].start)
        if match.tokens - 1 in places and match.tokens - 2 in places:
            annotated.append(row.end_time)
            found.append(heard[places[match.tokens - 1]].end)
    if len(annotated) < _MIN_ANCHORS:
        return TimeMap(anchors=len(annotated))
    from scipy.stats import theilslopes  # noqa: PLC0415 - takes seconds to load, and only media need it

    x, y = np.array(annotated), np.array(found)
    if len(x) > _MAX_FIT:
        chosen = np.linspace(0, len(x) - 1, _MAX_FIT).round().astype(int)
        x, y = x[chosen], y[chosen]
    slope = float(theilslopes(y, x).slope) if np.ptp(x) > 10 else 1.0
    if not 0.8 <= slope <= 1.25:  # no recording runs like that: the matches are no anchors
        slope = 1.0
    offset = float(np.median(y - slope * x))
    spread = float(np.median(np.abs(y - offset - slope * x)))
    return TimeMap(round(offset, 3), round(slope - 1, 6), len(annotated), round(spread, 3))


def _by_time(
    rows: Sequence[Row], texts: Sequence[list[str]], heard: Sequence[HeardWord], time_map: TimeMap
) -> list[RowMatch]:
    """Align again with the words of all rows in the order in which they should be heard, then fill the gaps.

    Where people talk at once, the words of one row stand between those of another; in the order of rows they could not
    all be matched.
    """
    windows = [_window(row, time_map) for row in rows]
    expected = sorted(
        (time_map.heard(row.start_time + (place + 0.5) / len(text) * (row.end_time - row.start_time)), position, place)
        for position, (row, text) in enumerate(zip(rows, texts, strict=True))
        for place in range(len(text))
    )
    keys = [_key(word) for word in heard]
    found: list[dict[int, int]] = [{} for _ in rows]
    for said, word in _pairs([texts[position][place] for _, position, place in expected], keys):
        _, position, place = expected[said]
        if windows[position].overlap(_span(heard[word])) > 0:
            found[position][place] = word
    for matched in found:
        _keep_rising(matched)
    used = {word for matched in found for word in matched.values()}
    starts = np.array([word.start for word in heard])
    for moment, position, place in expected:
        if place in found[position]:
            continue
        free = _nearest(
            texts[position][place], moment, _room(found[position], place, starts, windows[position]), keys, starts, used
        )
        if free is not None:
            found[position][place] = free
            used.add(free)
    return [
        RowMatch(row.row_index, len(text), tuple(sorted(matched.items())))
        for row, text, matched in zip(rows, texts, found, strict=True)
    ]


def _keep_rising(matched: dict[int, int]) -> None:
    """Drop the matches of a row that are not in the order of its words."""
    last = -1
    for place in sorted(matched):
        if matched[place] <= last:
            del matched[place]
        else:
            last = matched[place]


def _room(matched: Mapping[int, int], place: int, starts: npt.NDArray[np.float64], window: Interval) -> tuple[int, int]:
    """Positions that a word of a row may have: between its neighbours that are matched, and within the row's window."""
    before = max((word for other, word in matched.items() if other < place), default=-1)
    after = min((word for other, word in matched.items() if other > place), default=len(starts))
    first, last = np.searchsorted(starts, [window.start, window.end])
    return max(before + 1, int(first)), min(after, int(last))


def _nearest(
    token: str,
    moment: Seconds,
    room: tuple[int, int],
    keys: Sequence[str],
    starts: npt.NDArray[np.float64],
    used: set[int],
) -> int | None:
    """The free word with this text that is nearest in time."""
    fitting = [word for word in range(*room) if word not in used and keys[word] == token]
    return min(fitting, key=lambda word: abs(starts[word] - moment), default=None)


def _window(row: Row, time_map: TimeMap) -> Interval:
    return Interval(time_map.heard(row.start_time) - _REACH, time_map.heard(row.end_time) + _REACH)


def _span(word: HeardWord) -> Interval:
    return Interval(word.start, max(word.end, word.start + 0.001))
