"""Long recordings piece by piece, so that memory does not grow with their length.

A sound is read by slices: ``len(sound)`` is how many samples it has, ``sound[first:last]`` an array of them, mono
float32 at 16 kHz. An array is such a sound; `StoredSound` is one whose samples stay in their file.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from pipeline.media.audio import SAMPLE_RATE, read_audio, stored_samples
from pipeline.speech.voice import detect_voice
from pipeline.times import Interval

__all__ = ["Sound", "StoredSound", "blocks", "find_voice"]

_BLOCK = 600 * SAMPLE_RATE
"""Samples in memory at a time: 10 minutes."""
_SEARCH = 60 * SAMPLE_RATE
"""Samples at the end of a block in which the longest pause is looked for."""


class Sound(Protocol):
    """Mono sound at 16 kHz."""

    def __len__(self) -> int: ...

    def __getitem__(self, piece: slice, /) -> NDArray[Any]: ...


class StoredSound:
    """The sound of an extracted audio file.

    Raises:
        InputError: If the file is missing, torn, or not 16 kHz mono.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._samples = stored_samples(path)

    def __len__(self) -> int:
        return self._samples

    def __getitem__(self, piece: slice) -> NDArray[Any]:
        first, last, _ = piece.indices(self._samples)
        return read_audio(self._path, Interval(first / SAMPLE_RATE, max(first, last) / SAMPLE_RATE))


def blocks(sound: Sound) -> Iterator[tuple[int, NDArray[Any]]]:
    """Consecutive blocks of at most 10 minutes with the sample at which each begins.

    A block ends in the middle of the longest pause of its last minute, so no word is cut if there is one.
    """
    first = 0
    while first < len(sound):
        block = sound[first : first + _BLOCK]
        if first + len(block) < len(sound):
            block = block[: len(block) - _SEARCH + _longest_pause(block[-_SEARCH:])]
        yield first, block
        first += len(block)


def find_voice(sound: Sound) -> tuple[Interval, ...]:
    """The stretches with voice, in order, as seconds from the start of ``sound``."""
    return tuple(
        Interval(part.start + first / SAMPLE_RATE, part.end + first / SAMPLE_RATE)
        for first, block in blocks(sound)
        for part in detect_voice(block)
    )


def _longest_pause(samples: NDArray[Any]) -> int:
    """The sample in the middle of the longest pause; the last one where voice fills everything."""
    voice = detect_voice(samples)
    borders = [0.0, *(time for part in voice for time in (part.start, part.end)), len(samples) / SAMPLE_RATE]
    pauses = [(end - start, start) for start, end in list(pairwise(borders))[::2]]
    length, start = max(pauses)
    return round((start + length / 2) * SAMPLE_RATE) if length > 0 else len(samples)
