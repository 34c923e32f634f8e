"""Where there is voice: the Silero detector inside faster-whisper."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from pipeline.times import Interval

__all__ = ["DETECTION", "SAMPLE_RATE", "detect_voice"]

SAMPLE_RATE = 16_000

DETECTION = {"threshold": 0.5, "min_silence_duration_ms": 160, "speech_pad_ms": 400}
"""Options of the detector. Stretches are padded on both sides, so that soft beginnings and ends of words stay in."""


def detect_voice(audio: NDArray[Any]) -> tuple[Interval, ...]:
    """The stretches with voice, in order, as seconds from the start of ``audio`` (mono float32 at 16 kHz)."""
    from faster_whisper.vad import VadOptions, get_speech_timestamps

    if not len(audio):
        return ()
    return tuple(
        Interval(part["start"] / SAMPLE_RATE, part["end"] / SAMPLE_RATE)
        for part in get_speech_timestamps(audio, VadOptions(**DETECTION))
    )
