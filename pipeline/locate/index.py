"""The words of all episodes, and where each run of two or three of them stands."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pipeline.join.match import HeardWord, tokens
from pipeline.locate.scene import Scene
from pipeline.times import Seconds

__all__ = ["RUNS", "Heard", "Hits", "WordIndex"]

RUNS: Mapping[int, int] = {2: 8, 3: 25}
"""Length of a run of words to the number of places up to which it counts as rare: the shorter, the rarer it must be."""

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Heard:
    """An episode as it was recognised."""

    name: str
    """Relative to the folder of episodes, with ``/``."""
    duration: Seconds
    words: tuple[HeardWord, ...]
    """In order of time."""


@dataclass(frozen=True)
class Hits:
    """Places at which a run of words of a scene is heard; four arrays of the same length."""

    said: Floats
    """When the run should be heard, in seconds of the scene's clip."""
    heard: Floats
    """When it is, in seconds of the episode."""
    episode: Integers
    """Number of the episode."""
    weight: Floats
    """One over the number of places of the run, so that a phrase that is said often counts little."""


class WordIndex:
    """Finds runs of words. Memory is some forty bytes a recognised word.

    Args:
        episodes: Numbered from 0 in the order given.
    """

    def __init__(self, episodes: Sequence[Heard]) -> None:
        self.episodes = tuple(episodes)
        heard = [
            (number, word.start, token)
            for number, episode in enumerate(episodes)
            for word in episode.words
            for token in tokens(word.text)
        ]
        self._counts = Counter(token for _, _, token in heard)
        self._ids = {token: position for position, token in enumerate(self._counts, start=1)}
        self._episode: Integers = np.array([number for number, _, _ in heard], dtype=np.int64)
        self._start: Floats = np.array([start for _, start, _ in heard], dtype=np.float64)
        self._words: Integers = np.array([self._ids[token] for _, _, token in heard], dtype=np.int64)

    def rarity(self, token: str) -> float:
        """How much a word tells, in nats: the less often it is heard in the episodes, the more."""
        return math.log((len(self._words) + 2) / (self._counts[token] + 1))

    def find(self, scene: Scene) -> Hits:
        """Every place in the episodes at which a rare run of the scene's words is heard."""
        words: Integers = np.array([self._ids.get(word, 0) for word in scene.words], dtype=np.int64)
        parts = [self._find(words, scene.times, length, most) for length, most in RUNS.items()]
        return Hits(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _find(self, words: Integers, times: Floats, length: int, most: int) -> tuple[Floats, Floats, Integers, Floats]:
        codes = self._codes(words, length)
        known = np.flatnonzero(codes)
        run_codes, places = self._runs[length]
        first = np.searchsorted(run_codes, codes[known], side="left")
        count = np.searchsorted(run_codes, codes[known], side="right") - first
        rare = (count > 0) & (count <= most)
        known, first, count = known[rare], first[rare], count[rare]
        within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        place = places[np.repeat(first, count) + within]
        return times[np.repeat(known, count)], self._start[place], self._episode[place], 1.0 / np.repeat(count, count)

    @cached_property
    def _runs(self) -> Mapping[int, tuple[Integers, Integers]]:
        """Length to the codes of all runs, sorted, and the place of each; none reaches into the next episode."""
        found = {}
        for length in RUNS:
            codes = self._codes(self._words, length)
            inside = self._episode[: len(codes)] == self._episode[len(self._episode) - len(codes) :]
            places = np.flatnonzero(inside & (codes > 0))
            order = np.argsort(codes[places], kind="stable")
            found[length] = (codes[places][order], places[order])
        return found

    def _codes(self, words: Integers, length: int) -> Integers:
        """One number for each run of words; 0 where a word of it is heard in no episode."""
        runs = max(0, len(words) - length + 1)
        codes = np.zeros(runs, dtype=np.int64)
        complete = np.ones(runs, dtype=bool)
        for shift in range(length):
            part = words[shift : shift + runs]
            codes = codes * (len(self._ids) + 1) + part
            complete &= part > 0
        return np.where(complete, codes, 0)
