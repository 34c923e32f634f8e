"""Text to speech with the two engines, made equal in level and free of silence at the ends."""

from __future__ import annotations

import re
import subprocess
import tempfile
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import soundfile
from scipy.signal import resample_poly

from scripts.role_play.script import Voice

__all__ = ["RATE", "Samples", "silence", "speak"]

RATE = 24_000
"""Samples a second of everything here."""
Samples: TypeAlias = npt.NDArray[np.float32]
"""Mono sound, shape (samples,), full scale at 1."""

_LEVEL_DBFS = -22.0
_SENTENCE_PAUSE = 0.35
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")


def speak(text: str, voice: Voice, pace: float = 1.0) -> Samples:
    """Speak a text, with a short pause between sentences."""
    speed = pace * voice.pace
    spoken: list[Samples] = []
    for sentence in _SENTENCE_END.split(text):
        if spoken:
            spoken.append(silence(_SENTENCE_PAUSE / speed))
        spoken.append(_trimmed(_synthesize(sentence, voice, speed)))
    sound = np.concatenate(spoken)
    loud = np.sqrt(np.mean(sound[np.abs(sound) > 1e-3] ** 2))
    # Synthetic speech has few high peaks; those that would clip are cut at full scale.
    return np.asarray(np.clip(sound * (10 ** (_LEVEL_DBFS / 20) / loud), -0.99, 0.99), dtype=np.float32)


def silence(seconds: float) -> Samples:
    """Digital silence."""
    return np.zeros(round(seconds * RATE), dtype=np.float32)


def _synthesize(text: str, voice: Voice, speed: float) -> Samples:
    # Playing faster by `shift` raises pitch and formants; speaking slower by the same factor keeps the pace.
    speed /= voice.shift
    if voice.engine == "hibari":
        sound, rate = _hibari(voice.name)(text, speed=speed, seed=0), 24_000
    else:
        sound, rate = _flite(text, voice.name, speed)
    ratio = Fraction(RATE / (rate * voice.shift)).limit_denominator(500)
    return np.asarray(resample_poly(sound, ratio.numerator, ratio.denominator), dtype=np.float32)


@cache
def _hibari(name: str) -> Any:
    from hibari import Hibari  # noqa: PLC0415 - loads a network; the script can be read without it

    return Hibari(voice=name)


def _flite(text: str, name: str, speed: float) -> tuple[Samples, int]:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "speech.wav"
        stretch = f"duration_stretch={1 / speed:.4f}"
        subprocess.run(["flite", "-voice", name, "--setf", stretch, "-t", text, "-o", str(target)], check=True)
        sound, rate = soundfile.read(target, dtype="float32")
    return sound, int(rate)


def _trimmed(sound: Samples) -> Samples:
    """Without silence at the ends, faded over 5 ms so that no cut clicks."""
    audible = np.flatnonzero(np.abs(sound) > 0.01 * np.abs(sound).max())
    margin = RATE // 50
    cut = sound[max(0, audible[0] - margin) : audible[-1] + margin].copy()
    fade = np.linspace(0, 1, RATE // 200, dtype=np.float32)
    cut[: len(fade)] *= fade
    cut[-len(fade) :] *= fade[::-1]
    return cut
