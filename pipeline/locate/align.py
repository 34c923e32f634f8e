"""Laying a scene at one place of an episode: which of its words are heard there, from where on, and how fast."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pipeline.join.match import Alignment, align
from pipeline.locate.candidates import Candidate
from pipeline.locate.index import WordIndex
from pipeline.locate.scene import Scene
from pipeline.times import Seconds

__all__ = ["KNOWN_SPEEDS", "MANY_ANCHORS", "Fit", "Part", "fit", "united"]

KNOWN_SPEEDS = tuple(
    Fraction(*speed) for speed in ((1, 1), (25, 24), (24, 25), (1001, 960), (960, 1001), (1001, 1000), (1000, 1001))
)
"""Film has 24 or 24000/1001 frames a second, PAL television 25; at the rate of another one it runs this much faster."""

_REACH: Seconds = 6.0
"""How far around its expected place a scene is looked for. Words of others there only draw matches away."""
_NEAR: Seconds = 6.0
"""How far from the line of the votes an anchor may lie: beyond that it belongs to another place."""
_LATE: Seconds = 2.0
"""How far outside its row a word may be heard."""
_SURE = 0.5
"""Share of a row's words from which on its edges are anchors."""
_MIN_ANCHORS = 4
_FEW_EDGES = 8
MANY_ANCHORS = 12
"""Anchors from which on a scene shows the speed of its episode."""
_LONG_ENOUGH: Seconds = 10.0
"""Anchors nearer together say nothing about the speed."""
_UNHEARD: Seconds = 0.15
"""Drift from the first anchor to the last that is less than how far recognisers are off by habit."""
_EXACT = 0.003
"""Half the width of the slope's 99 % interval up to which a speed that no television system explains is believed."""
_MOST_ANCHORS = 400
_GAP: Seconds = 5.0
"""Shortest insertion in the middle of a scene that is looked for."""
_LONGEST_GAP: Seconds = 600.0
_SAME_SPEED = 0.002
_GAIN = 0.1
"""Share of the scene that a second part must add."""

Anchor: TypeAlias = tuple[Seconds, Seconds]
"""A time in the scene and one in the episode."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """A stretch of the scene that lies in one piece: ``heard = offset + said / speed``."""

    start: Seconds
    """In the scene's clip."""
    offset: Seconds


@dataclass(frozen=True)
class Fit:
    """How a scene lies at one place of an episode."""

    episode: int
    parts: tuple[Part, ...]
    """In order; more than one where something is put in between, such as an advertisement."""
    speed: Fraction
    """How many times faster the episode runs than the scene's clip: 25/24 where film is played as PAL television."""
    share: float
    """Part of the scene that is heard there, 0..1: rare words count more, and only words beside another one that is."""
    rows: tuple[float, ...]
    """The same for each row of the scene, as parts of the whole scene; they add up to ``share``."""
    weights: tuple[float, ...]
    """What each row would have if all of it were heard; they add up to 1."""
    anchors: int
    spread: Seconds
    """Median distance of the anchors from the line."""

    @property
    def offset(self) -> Seconds:
        """Where the scene's zero lies in the episode; negative where the episode begins later."""
        return self.parts[0].offset

    @property
    def coverage(self) -> float:
        """Of the quarters of the scene's text, the share in which at least a tenth is heard."""
        ends = np.cumsum(self.weights)
        quarters = np.minimum((np.concatenate(([0.0], ends[:-1])) + ends) / 2 * 4, 3.999).astype(int)
        heard = np.bincount(quarters, weights=self.rows, minlength=4)
        there = np.bincount(quarters, weights=self.weights, minlength=4)
        filled = there > 0
        return float(np.mean(heard[filled] >= 0.1 * there[filled])) if filled.any() else 0.0

    def heard(self, said: Seconds) -> Seconds:
        """Where a time of the scene lies in the episode."""
        part = [part for part in self.parts if part.start <= said][-1:] or [self.parts[0]]
        return part[0].offset + said / float(self.speed)


def fit(scene: Scene, candidate: Candidate, index: WordIndex, *, speed: Fraction | None = None) -> Fit | None:
    """Lay a scene at a place; None where too few of its rows agree on one.

    The words are aligned as those of any annotation are (`pipeline.join.match`). The line through the edges of surely
    heard rows is then taken again with speeds that occur: over the length of a scene its free slope is too unsure.

    Args:
        scene: What is looked for.
        candidate: Where.
        index: The words of the episodes.
        speed: How many times faster the episode runs, where that is known.
    """
    first = candidate.offset - _REACH
    last = candidate.offset + scene.end / candidate.speed + _REACH
    words = [word for word in index.episodes[candidate.episode].words if first <= word.start <= last]
    alignment = align(scene.rows, words)
    line = _line(scene, alignment, candidate, speed)
    if line is None:
        return None
    offset, speed, anchors, spread = line
    rows, weights = _weighed(scene, alignment, index, offset, float(speed))
    return Fit(candidate.episode, (Part(0.0, offset),), speed, float(sum(rows)), rows, weights, anchors, spread)


def united(fits: Sequence[Fit], scene: Scene) -> list[Fit]:
    """Fits of two parts: scenes of which one half is heard at one place and the other half later in the same episode.

    That is how a scene lies in an episode with an advertisement in its middle. Only what adds a good part of the scene
    counts, so that a phrase that is said again makes no second part.
    """
    found = []
    for one in fits:
        for other in fits:
            gap = other.offset - one.offset
            together = one.episode == other.episode and abs(one.speed - other.speed) < _SAME_SPEED
            if not together or not _GAP <= gap <= _LONGEST_GAP:
                continue
            before = np.concatenate(([0.0], np.cumsum(one.rows)))
            after = float(sum(other.rows)) - np.concatenate(([0.0], np.cumsum(other.rows)))
            split = int((before + after).argmax())
            share = float(before[split] + after[split])
            if share - max(one.share, other.share) < _GAIN:
                continue
            # In the middle of the pause, so that neither row loses its edge.
            border = (scene.rows[split - 1].end_time + scene.rows[split].start_time) / 2
            found.append(
                replace(
                    one,
                    parts=(*one.parts, Part(border, other.offset)),
                    speed=max(one, other, key=lambda part: part.anchors).speed,
                    share=share,
                    rows=(*one.rows[:split], *other.rows[split:]),
                    anchors=one.anchors + other.anchors,
                    spread=max(one.spread, other.spread),
                )
            )
    return found


def _line(
    scene: Scene, alignment: Alignment, candidate: Candidate, speed: Fraction | None
) -> tuple[Seconds, Fraction, int, Seconds] | None:
    """Offset, speed, number of anchors and their median distance from the line."""
    sides = [_near(side, candidate) for side in _edges(scene, alignment)]
    if sum(map(len, sides)) < _FEW_EDGES:
        # Where little is heard, words within rows help. Their times are guessed and err together, so they say nothing
        # about the speed beyond what the votes said.
        sides = [_near(_runs(scene, alignment), candidate)]
        speed = speed or min(KNOWN_SPEEDS, key=lambda known: abs(float(known) - candidate.speed))
    x = np.array([said for side in sides for said, _ in side])
    y = np.array([heard for side in sides for _, heard in side])
    if len(x) < _MIN_ANCHORS:
        return None
    speed = speed or _speed(x, y)
    # Recognisers hear words begin early or end late: the two kinds of edges count alike, however many there are.
    rests = [np.array([heard - said / float(speed) for said, heard in side]) for side in sides if side]
    offset = float(np.mean([np.median(side) for side in rests]))
    spread = float(np.median(np.abs(y - offset - x / float(speed))))
    return round(offset, 3), speed, len(x), round(spread, 3)


def _near(anchors: Iterable[Anchor], candidate: Candidate) -> list[Anchor]:
    return [(said, heard) for said, heard in anchors if abs(heard - candidate.offset - said / candidate.speed) <= _NEAR]


def _runs(scene: Scene, alignment: Alignment) -> list[Anchor]:
    """Guessed and heard time of every third word of each run of words that are heard one after the other."""
    found = []
    position = 0
    for match in alignment.rows:
        run: list[tuple[int, int]] = []
        for place, word in [*_supported(set(match.pairs)), (-1, -1)]:
            if run and (place, word) != (run[-1][0] + 1, run[-1][1] + 1):
                found += [
                    (float(scene.times[position + said]), alignment.words[heard].start) for said, heard in run[1::3]
                ]
                run = []
            run.append((place, word))
        position += match.tokens
    return found


def _supported(pairs: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs beside another one: a single word is found nearly anywhere by chance, two in a row are not."""
    return sorted((place, word) for place, word in pairs if {(place - 1, word - 1), (place + 1, word + 1)} & pairs)


def _edges(scene: Scene, alignment: Alignment) -> tuple[list[Anchor], list[Anchor]]:
    """Annotated and heard times of the starts, and of the ends, of rows whose first or last two words were heard."""
    starts, ends = [], []
    for row, match in zip(scene.rows, alignment.rows, strict=True):
        if match.share <= _SURE or match.tokens < 2:
            continue
        places = dict(match.pairs)
        if 0 in places and 1 in places:
            starts.append((row.start_time, alignment.words[places[0]].start))
        if match.tokens - 1 in places and match.tokens - 2 in places:
            ends.append((row.end_time, alignment.words[places[match.tokens - 1]].end))
    return starts, ends


def _speed(x: Floats, y: Floats) -> Fraction:
    """The speed that the anchors show, by Theil and Sen; the usual one where they cannot tell."""
    if np.ptp(x) < _LONG_ENOUGH:
        return Fraction(1)
    from scipy.stats import theilslopes  # noqa: PLC0415 - takes seconds to load, and only media need it

    if len(x) > _MOST_ANCHORS:
        chosen = np.linspace(0, len(x) - 1, _MOST_ANCHORS).round().astype(int)
        x, y = x[chosen], y[chosen]
    slope, _, low, high = theilslopes(y, x, 0.99)
    low, high = low - _UNHEARD / np.ptp(x), high + _UNHEARD / np.ptp(x)
    possible = [speed for speed in KNOWN_SPEEDS if low <= 1 / float(speed) <= high]
    if possible:
        nearest = min(possible, key=lambda speed: abs(1 / float(speed) - slope))
        # Of those a thousandth apart the first that can be: what changes nothing, or little, before what is seldom.
        return next(speed for speed in possible if abs(speed - nearest) < _SAME_SPEED)
    if (high - low) / 2 <= _EXACT:
        free = Fraction(1 / float(slope)).limit_denominator(10_000)
        close = min(KNOWN_SPEEDS, key=lambda speed: abs(speed - free))
        # Small errors of many anchors agree now and then: only a good distance from every known speed is another one.
        return close if abs(close - free) < 2 * _EXACT else free
    return min(KNOWN_SPEEDS, key=lambda speed: _scatter(x, y, speed))


def _scatter(x: Floats, y: Floats, speed: Fraction) -> float:
    rest = y - x / float(speed)
    return float(np.median(np.abs(rest - np.median(rest))))


def _weighed(
    scene: Scene, alignment: Alignment, index: WordIndex, offset: Seconds, speed: float
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """What of each row is heard, and what there is to be heard, as parts of the whole scene."""
    heard, there = [], []
    position = 0
    for row, match in zip(scene.rows, alignment.rows, strict=True):
        rarity = [index.rarity(word) for word in scene.words[position : position + match.tokens]]
        position += match.tokens
        first, last = offset + row.start_time / speed - _LATE, offset + row.end_time / speed + _LATE
        pairs = {pair for pair in match.pairs if first <= alignment.words[pair[1]].start <= last}
        heard.append(sum(rarity[place] for place, _ in _supported(pairs)))
        there.append(sum(rarity))
    total = sum(there) or 1.0
    return tuple(value / total for value in heard), tuple(value / total for value in there)
