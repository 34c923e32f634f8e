"""The last tenths of a second: moving a scene to where it gets loud when its rows begin, and quiet when they end.

Recognisers place words by attention, on some recordings a third of a second late throughout; loudness has no such
habit. It is the same for people: the rows were made to begin where the voice does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pipeline.locate.align import KNOWN_SPEEDS, MANY_ANCHORS, Fit, Part
from pipeline.locate.scene import Scene
from pipeline.media.audio import SAMPLE_RATE, read_audio
from pipeline.store import Json
from pipeline.times import Interval, Seconds

__all__ = ["Refinement", "refine"]

_STEP: Seconds = 0.02
_REACH: Seconds = 0.8
"""How far words may have been off."""
_ALIKE = 0.3
"""Correlation of rows and loudness under which they say nothing of each other: music, or rows without pauses."""
_OTHER_SPEED = 0.1
"""What another speed must add to it."""
_GAIN = 0.02
"""What a move must add to it."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Refinement:
    """By how much a scene was moved, and why."""

    shift: Seconds
    """Added to the place that the words gave; 0 where loudness does not decide."""
    correlation: float
    """Of the rows and the loudness, at the place kept; -1 to 1."""
    before: float
    """The same at the place that the words gave."""

    def to_json(self) -> dict[str, Json]:
        """The JSON form."""
        return {name: round(value, 3) for name, value in vars(self).items()}


def refine(found: Fit, scene: Scene, audio: Path) -> tuple[Fit, Refinement]:
    """Move a scene by up to 0.8 s to where its rows fit the loudness of the episode best, if that is clear.

    A scene with few anchors shows its speed poorly: it is also tried at 1, 25/24 and 24/25, turned about its middle.

    Compared are two signals in steps of 20 ms over the length of the scene: whether a row lasts, and how loud it is
    (the logarithm of the power, between its 10th and 90th percentile), by Pearson's correlation.

    Args:
        found: Where the words place the scene.
        scene: Its rows.
        audio: The sound of the episode, 16 kHz mono.
    """
    moved, how = _moved(found, scene, audio)
    if len(found.parts) > 1 or found.anchors >= MANY_ANCHORS:
        return moved, how
    middle = scene.end / 2
    for speed in KNOWN_SPEEDS[:3]:
        offset = found.heard(middle) - middle / float(speed)
        other, heard = _moved(replace(found, parts=(Part(0.0, offset),), speed=speed), scene, audio)
        if heard.correlation >= max(_ALIKE, how.correlation + _OTHER_SPEED):
            shift = other.offset - found.offset
            moved, how = other, Refinement(shift, heard.correlation, how.before)
    return moved, how


def _moved(found: Fit, scene: Scene, audio: Path) -> tuple[Fit, Refinement]:
    first = max(0.0, found.heard(0.0) - _REACH)
    said, loud = [], []
    for number, part in enumerate(found.parts):
        end = found.parts[number + 1].start if number + 1 < len(found.parts) else scene.end + _REACH
        start = part.start if number else min(0.0, part.start) - _REACH
        low = max(first, part.offset + start / float(found.speed))
        levels = _loudness(audio, Interval(low, part.offset + end / float(found.speed)))
        said.append((low + (np.arange(len(levels)) + 0.5) * _STEP - part.offset) * float(found.speed))
        loud.append(levels)
    times, levels = np.concatenate(said), np.concatenate(loud)
    if len(levels) < 2 * _REACH / _STEP:
        return found, Refinement(0.0, 0.0, 0.0)
    levels = np.clip(levels, *np.percentile(levels, [10, 90]))
    steps = round(_REACH / _STEP)
    shifts = np.arange(-steps, steps + 1) * _STEP
    alike = np.array([_alike(times - shift * float(found.speed), levels, scene) for shift in shifts])
    best, before = int(alike.argmax()), float(alike[steps])
    # At the edge the peak lies beyond it, if there is one at all.
    clear = alike[best] >= _ALIKE and alike[best] - before >= _GAIN and 0 < best < len(shifts) - 1
    if not clear:
        return found, Refinement(0.0, before, before)
    shift = float(shifts[best])
    parts = tuple(Part(part.start, round(part.offset + shift, 3)) for part in found.parts)
    return replace(found, parts=parts), Refinement(shift, float(alike[best]), before)


def _loudness(audio: Path, interval: Interval) -> Floats:
    """Logarithm of the power in each step."""
    samples = read_audio(audio, interval)
    size = round(_STEP * SAMPLE_RATE)
    steps = len(samples) // size
    power = np.square(samples[: steps * size], dtype=np.float64).reshape(steps, size).mean(axis=1)
    levels: Floats = np.log10(power + 1e-7)
    return levels


def _alike(said: Floats, levels: Floats, scene: Scene) -> float:
    """Correlation of rows and loudness where both are known; 0 where one of them never changes."""
    inside = (said >= -_REACH) & (said <= scene.end + _REACH)
    starts = np.sort([row.start_time for row in scene.rows])
    ends = np.sort([row.end_time for row in scene.rows])
    at = said[inside]
    lasts = np.searchsorted(starts, at, side="right") > np.searchsorted(ends, at, side="right")
    if lasts.all() or not lasts.any() or np.ptp(levels[inside]) == 0:
        return 0.0
    return float(np.corrcoef(lasts, levels[inside])[0, 1])
