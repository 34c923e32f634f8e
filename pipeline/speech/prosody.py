"""How turns and rows sound: pitch, intensity, speech rate, pauses, overlap.

Pitch is found by pYIN (Mauch and Dixon 2014) as librosa has it (ISC licence). Parselmouth (Praat) would be GPL, and
openSMILE is free for research only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pipeline.speech.nist import SpeakerTurn
from pipeline.store import Json
from pipeline.times import Interval, Seconds, merge

__all__ = ["Spoken", "prosody"]

_STEP: Seconds = 0.02
_LOWEST, _HIGHEST = 65.0, 500.0
"""Hz; below and above no voice is looked for."""
_RESOLUTION = 0.25
"""Semitones between two candidates of the pitch."""
_PIECE: Seconds = 30.0
"""Sound that is held at once."""
_PAUSE: Seconds = 0.25
_LEAST_VOICED = 3
"""Voiced frames under which there is no pitch."""
_SILENT_DB = -120.0

Track = npt.NDArray[np.float64]


class Spoken(Protocol):
    """A turn or a row, as far as its sound is concerned."""

    @property
    def interval(self) -> Interval:
        """From its start to its end."""
        ...

    @property
    def words(self) -> tuple[Interval, ...]:
        """When each word is said, in order; empty where none was recognised."""
        ...

    @property
    def speech(self) -> tuple[Interval, ...]:
        """When anything is said."""
        ...


def prosody(sound: Path, units: Sequence[Spoken], speakers: Sequence[SpeakerTurn]) -> list[dict[str, Json]]:
    """The columns of sound of the table ``cues``, one dict a unit in the order given.

    Args:
        sound: One channel, on the clip's time axis.
        units: Turns and rows.
        speakers: Who speaks when, for the overlap.
    """
    pitch, power = _tracks(sound, merge(unit.interval for unit in units))
    overlaps = _overlaps(speakers)
    return [_columns(unit, pitch, power, overlaps) for unit in units]


def _tracks(sound: Path, wanted: Sequence[Interval]) -> tuple[Track, Track]:
    """Pitch in Hz (NaN where nothing is voiced) and mean power, every `_STEP` seconds, where it is wanted."""
    import librosa
    import soundfile

    with soundfile.SoundFile(sound) as opened:
        rate = opened.samplerate
        hop = round(_STEP * rate)
        count = opened.frames // hop + 1
        pitch, power = np.full(count, np.nan), np.zeros(count)
        for first, last in _pieces(wanted, count):
            opened.seek(min(opened.frames, first * hop))
            samples = opened.read((last - first) * hop, dtype="float32")
            if len(samples) < 4 * hop:
                continue
            found, _, _ = librosa.pyin(
                samples, fmin=_LOWEST, fmax=_HIGHEST, sr=rate, hop_length=hop, resolution=_RESOLUTION
            )
            loud = librosa.feature.rms(y=samples, frame_length=2 * hop, hop_length=hop)[0] ** 2
            frames = min(len(found), len(loud), last - first)
            pitch[first : first + frames] = found[:frames]
            power[first : first + frames] = loud[:frames]
    return pitch, power


def _pieces(wanted: Sequence[Interval], count: int) -> Iterator[tuple[int, int]]:
    step = round(_PIECE / _STEP)
    for span in wanted:
        first, last = _frames(span, count)
        yield from ((begin, min(last, begin + step)) for begin in range(first, last, step))


def _frames(span: Interval, count: int) -> tuple[int, int]:
    first = min(count, max(0, round(span.start / _STEP)))
    return first, min(count, max(first, round(span.end / _STEP)))


def _columns(unit: Spoken, pitch: Track, power: Track, overlaps: Sequence[Interval]) -> dict[str, Json]:
    first, last = _frames(unit.interval, len(pitch))
    voiced = pitch[first:last][~np.isnan(pitch[first:last])]
    enough = len(voiced) >= _LEAST_VOICED
    said = [power[slice(*_frames(span, len(power)))] for span in unit.speech]
    loud = np.concatenate(said) if said else np.zeros(0)
    low, high = np.percentile(voiced, [5, 95]) if enough else (0.0, 0.0)
    seconds = unit.interval.duration
    silences = [after.start - before.end for before, after in pairwise(unit.words)]
    pauses = [silence for silence in silences if silence >= _PAUSE]
    shared = sum(max(0.0, min(part.end, unit.interval.end) - max(part.start, unit.interval.start)) for part in overlaps)
    return {
        "pitch_median": round(float(np.median(voiced)), 1) if enough else None,
        "pitch_range": round(float(high - low), 1) if enough else None,
        "voiced_share": round(len(voiced) / (last - first), 4) if last > first else None,
        "intensity": round(max(_SILENT_DB, 10 * float(np.log10(loud.mean() + 1e-12))), 1) if len(loud) else None,
        "speech_rate": round(len(unit.words) / seconds, 2) if unit.words and seconds > 0 else None,
        "pauses": len(pauses) if unit.words else None,
        "pause_seconds": round(sum(pauses), 2) if unit.words else None,
        "overlap_share": round(min(1.0, shared / seconds), 4) if seconds > 0 else None,
    }


def _overlaps(speakers: Sequence[SpeakerTurn]) -> list[Interval]:
    """Where two or more people speak."""
    shared = []
    open_until: list[tuple[Seconds, str]] = []
    for turn in sorted(speakers, key=lambda turn: turn.start):
        open_until = [(end, name) for end, name in open_until if end > turn.start]
        shared += [Interval(turn.start, min(end, turn.end)) for end, name in open_until if name != turn.speaker]
        open_until.append((turn.end, turn.speaker))
    return merge(part for part in shared if part.duration > 0)
