"""The script spoken on one time line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.times import Interval
from scripts.role_play.script import Line, Script
from scripts.role_play.voices import RATE, Samples, silence, speak

__all__ = ["Performance", "perform"]

_TAIL = 1.5
"""Seconds after the last row."""
_INTERJECTION_GAIN = 0.7
"""Someone who talks over another one is a little further from the microphone."""


@dataclass(frozen=True)
class Performance:
    """What is heard."""

    tracks: dict[str, Samples]
    """One speaker's sound each, equally long; their sum is the recording."""
    times: tuple[Interval, ...]
    """When each row is heard: from the first to the last sound of its primary speaker."""

    @property
    def mix(self) -> Samples:
        """All speakers together."""
        return np.clip(sum(self.tracks.values()), -0.99, 0.99).astype(np.float32)

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return len(next(iter(self.tracks.values()))) / RATE


def perform(script: Script) -> Performance:
    """Speak every row in turn.

    Raises:
        ValueError: If an interjection lasts longer than the row it is heard over: then the row's end would not be its
            speaker's.
    """
    placed: list[tuple[str, int, Samples]] = []
    times = []
    now = 0.0
    for line in script.lines:
        start = now + line.stage.pause
        sound = speak(line.row.dialogue_cleaned, script.voices[line.row.primary_speaker], line.stage.pace)
        time = Interval(start, start + len(sound) / RATE)
        placed.append((line.row.primary_speaker, round(start * RATE), sound))
        placed.extend(_interjections(script, line, time))
        times.append(time)
        now = time.end
    tracks = {name: silence(now + _TAIL) for name in script.voices}
    for speaker, first, sound in placed:
        tracks[speaker][first : first + len(sound)] += sound
    return Performance(tracks, tuple(times))


def _interjections(script: Script, line: Line, time: Interval) -> list[tuple[str, int, Samples]]:
    heard = []
    for after, background in zip(line.stage.interjects, line.row.background_dialogue, strict=True):
        sound = speak(background.content, script.voices[background.speaker]) * np.float32(_INTERJECTION_GAIN)
        if time.start + after + len(sound) / RATE > time.end:
            msg = f"row {line.row.row_index}: the interjection at {after} s ends after the row ({time.duration:.2f} s)"
            raise ValueError(msg)
        heard.append((background.speaker, round((time.start + after) * RATE), sound))
    return heard
