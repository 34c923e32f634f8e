"""Where a scene may lie: votes of its rare runs of words for an episode, an offset and a speed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.locate.index import Hits
from pipeline.times import Seconds

__all__ = ["Candidate", "candidates"]

_SPEEDS = np.arange(0.95, 1.0501, 0.005)
"""Speeds that are tried; between two of them a scene of twenty minutes drifts by three seconds, which a bin bears."""
_BIN: Seconds = 2.0
_APART: Seconds = 5.0
"""Two places nearer than this, counted in the middle of the scene, are one."""
_MOST = 6
_FAINT = 0.1
"""Share of the votes of the best place under which a place is not looked at."""


@dataclass(frozen=True)
class Candidate:
    """A place at which a scene may lie; ``heard = offset + said / speed``."""

    episode: int
    offset: Seconds
    speed: float
    votes: float


def candidates(hits: Hits, length: Seconds) -> list[Candidate]:
    """The places with most votes, best first.

    Every run of words that a scene and an episode share votes, at each speed, for the offset at which the two would
    meet. Where the scene really lies the votes of all its runs fall into one bin or the next ones; phrases that are
    only repeated somewhere spread.

    Args:
        hits: Runs of words that the scene shares with the episodes.
        length: Of the scene, in seconds.
    """
    if not len(hits.said):
        return []
    peaks = [peak for speed in _SPEEDS for peak in _peaks(hits, float(speed))]
    # Of equals the speed that changes nothing goes first.
    peaks.sort(key=lambda peak: (-peak.votes, abs(peak.speed - 1), peak.episode, peak.offset))
    chosen: list[Candidate] = []
    for peak in peaks:
        if len(chosen) == _MOST or (chosen and peak.votes < _FAINT * chosen[0].votes):
            break
        if all(_apart(peak, other, length) for other in chosen):
            chosen.append(peak)
    return chosen


def _peaks(hits: Hits, speed: float) -> list[Candidate]:
    bins = np.floor((hits.heard - hits.said / speed) / _BIN).astype(np.int64)
    lowest = int(bins.min()) - 2
    width = int(bins.max()) - lowest + 3
    keys, member = np.unique(hits.episode * width + bins - lowest, return_inverse=True)
    votes = np.bincount(member, weights=hits.weight)
    at = dict(zip(keys.tolist(), votes.tolist(), strict=True))
    smooth = {key: at.get(key - 1, 0.0) + at[key] + at.get(key + 1, 0.0) for key in at}
    best = sorted(smooth, key=lambda key: -smooth[key])[: 2 * _MOST]
    return [Candidate(key // width, (key % width + lowest + 0.5) * _BIN, speed, round(smooth[key], 6)) for key in best]


def _apart(one: Candidate, other: Candidate, length: Seconds) -> bool:
    if one.episode != other.episode:
        return True
    middle = length / 2
    return abs(one.offset + middle / one.speed - other.offset - middle / other.speed) > _APART
