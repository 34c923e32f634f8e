"""Sound as 16 kHz mono on the clip's own time axis.

Zero is the clip's zero: sound that begins later is padded in front, holes are filled with silence, and the end is
padded or cut to the length of the clip. So a time in the audio is a time in the video.
"""

from __future__ import annotations

import math
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.errors import InputError
from pipeline.extras import load
from pipeline.media.ffmpeg import SAFE_INPUT, binary, file_url, shown
from pipeline.media.probe import AudioStream, MediaInfo
from pipeline.settings import MediaSettings
from pipeline.store import Json, atomic_path
from pipeline.times import Interval, Seconds

__all__ = ["SAMPLE_RATE", "AudioReport", "extract_audio", "read_audio", "stored_samples"]

SAMPLE_RATE = 16_000
"""Hz; what every speech model here expects."""

_BLOCK = SAMPLE_RATE * 10
_FULL_SCALE = 0.999
_SILENCE_DB = -120.0

Samples = npt.NDArray[np.float32]


@dataclass(frozen=True)
class AudioReport:
    """What was found while decoding."""

    duration: Seconds
    """Length of the audio as stored, which is the length of the clip."""
    decoded: Seconds
    """Where decoding ended, before padding to the length of the clip."""
    channels: int
    mix: str
    """``mean`` of all channels, or ``channel N`` where mixing would cancel the voices out."""
    mean_dbfs: float
    """Mean level in dB relative to full scale."""
    peak_dbfs: float
    clipped_share: float
    """Share of samples at full scale, 0..1."""
    decode_errors: int
    messages: tuple[str, ...]
    """The first complaints of the decoder."""

    def to_json(self) -> dict[str, Json]:
        """The JSON form."""
        return {**asdict(self), "messages": list(self.messages)}


def extract_audio(
    recording: Path, info: MediaInfo, stream: AudioStream, clip_duration: Seconds, target: Path, settings: MediaSettings
) -> AudioReport:
    """Decode one audio track to a FLAC file of 16 kHz mono.

    Decodes once and streams: memory does not grow with length. Only where mixing the channels to one would cancel the
    voices out is the recording decoded a second time, for the loudest channel alone.

    Args:
        recording: The user's file.
        info: What `probe` says of it.
        stream: Which track.
        clip_duration: Length of the clip in seconds; 0 if unknown.
        target: The FLAC file.
        settings: Tolerances.

    Raises:
        InputError: If nothing can be decoded.
    """
    with atomic_path(target) as temporary:
        levels = _Levels(stream.channels)
        written = _decode(_Decoder(recording, info, stream), temporary, levels, clip_duration, channel=None)
        mix = "mean"
        if levels.cancels(settings.cancel_db):
            loudest = levels.loudest
            unused = _Levels(stream.channels)
            written = _decode(_Decoder(recording, info, stream), temporary, unused, clip_duration, channel=loudest)
            mix = f"channel {loudest}"
        if levels.samples == 0:
            msg = "no sound could be decoded"
            reason = written.messages[0] if written.messages else "the decoder gives no reason"
            raise InputError(f"{msg}: {reason}", file=recording, hint="play it to see if it is whole, or convert it")
    return AudioReport(
        duration=round(written.stored / SAMPLE_RATE, 3),
        decoded=round(levels.samples / SAMPLE_RATE, 3),
        channels=stream.channels,
        mix=mix,
        mean_dbfs=levels.mean_dbfs(mix),
        peak_dbfs=_decibels(levels.peak),
        clipped_share=round(levels.clipped / max(1, levels.samples * stream.channels), 6),
        decode_errors=written.errors,
        messages=written.messages,
    )


def read_audio(source: Path, interval: Interval | None = None) -> Samples:
    """Samples of an extracted audio file, -1..1, 16 kHz mono; the whole of it or an interval in seconds.

    Raises:
        InputError: If the file is missing, torn, or not 16 kHz mono.
    """
    with _open(source) as opened:
        if interval is None:
            samples: Samples = opened.read(dtype="float32")
            return samples
        first = min(opened.frames, max(0, round(interval.start * SAMPLE_RATE)))
        last = min(opened.frames, max(first, round(interval.end * SAMPLE_RATE)))
        opened.seek(first)
        part: Samples = opened.read(last - first, dtype="float32")
        return part


def stored_samples(source: Path) -> int:
    """How many samples an extracted audio file holds.

    Raises:
        InputError: If the file is missing, torn, or not 16 kHz mono.
    """
    with _open(source) as opened:
        return int(opened.frames)


@contextmanager
def _open(source: Path) -> Iterator[Any]:
    soundfile = load("soundfile", "speech")
    try:
        with soundfile.SoundFile(source) as opened:
            if (opened.samplerate, opened.channels) != (SAMPLE_RATE, 1):
                msg = f"expected 16 kHz mono, found {opened.samplerate} Hz with {opened.channels} channels"
                raise InputError(msg, file=source, hint="run `rescue build --force`")
            yield opened
    except soundfile.LibsndfileError as error:
        msg = f"the audio cannot be read: {error.error_string}"
        raise InputError(msg, file=source, hint="delete it and run `rescue build`") from error


@dataclass(frozen=True)
class _Written:
    stored: int
    errors: int
    messages: tuple[str, ...]


class _Levels:
    """Energy of each channel and of their mean, gathered block by block."""

    def __init__(self, channels: int) -> None:
        self.samples = 0
        self.peak = 0.0
        self.clipped = 0
        self._energy = np.zeros(channels)
        self._mixed = 0.0

    def add(self, block: Samples) -> None:
        """A block of shape (samples, channels)."""
        self.samples += len(block)
        self._energy += np.square(block, dtype=np.float64).sum(axis=0)
        self._mixed += float(np.square(block.mean(axis=1), dtype=np.float64).sum())
        magnitude = np.abs(block)
        self.peak = max(self.peak, float(magnitude.max(initial=0.0)))
        self.clipped += int((magnitude >= _FULL_SCALE).sum())

    @property
    def loudest(self) -> int:
        """The channel with the most energy, counted from 0."""
        return int(self._energy.argmax())

    def cancels(self, limit_db: float) -> bool:
        """Whether the mean of the channels is that much weaker than the loudest one."""
        if len(self._energy) < 2 or self._energy.max() == 0:
            return False
        # Two independent channels lose 3 dB, one silent of two loses 6; N channels with one voice lose 20 log10 N.
        unavoidable = 20 * math.log10(len(self._energy))
        loss = 10 * math.log10(self._energy.max() / max(self._mixed, 1e-20))
        return loss > max(limit_db, unavoidable + 1)

    def mean_dbfs(self, mix: str) -> float:
        """Mean level of what was stored."""
        energy = self._mixed if mix == "mean" else float(self._energy.max())
        return _decibels(math.sqrt(energy / max(1, self.samples)))


def _decibels(amplitude: float) -> float:
    return round(20 * math.log10(amplitude), 1) if amplitude > 0 else _SILENCE_DB


def _decode(
    decoder: _Decoder, target: Path, levels: _Levels, clip_duration: Seconds, *, channel: int | None
) -> _Written:
    soundfile = load("soundfile", "speech")
    limit = round(clip_duration * SAMPLE_RATE) if clip_duration else None
    stored = 0
    with soundfile.SoundFile(target, "w", SAMPLE_RATE, 1, subtype="PCM_16", format="FLAC") as flac:
        for block in decoder.blocks():
            levels.add(block)
            mono = block.mean(axis=1) if channel is None else block[:, channel]
            if limit is not None:
                mono = mono[: max(0, limit - stored)]
            flac.write(np.clip(mono, -1.0, 1.0))
            stored += len(mono)
        while limit is not None and stored < limit:
            silence = np.zeros(min(_BLOCK, limit - stored), dtype=np.float32)
            flac.write(silence)
            stored += len(silence)
    return _Written(stored, len(decoder.messages), decoder.messages[:3])


class _Decoder:
    """ffmpeg, giving all channels of a track as float samples at 16 kHz on the clip's time axis."""

    def __init__(self, recording: Path, info: MediaInfo, stream: AudioStream) -> None:
        self.messages: tuple[str, ...] = ()
        self._recording = recording
        self._channels = stream.channels
        # The file's own time stamps are kept and moved by hand: left alone, ffmpeg takes some formats' zero from the
        # streams in use. `first_pts` puts sound that begins late where it belongs, `async` fills holes.
        command = (
            load("ffmpeg", "speech")
            .input(file_url(recording), copyts=None, **SAFE_INPUT)[str(stream.index)]
            .filter("asetpts", f"PTS-({info.clock_start})/TB")
            .filter("aresample", SAMPLE_RATE, **{"async": 1, "first_pts": 0, "min_hard_comp": 0.05})
            .output("pipe:", format="f32le", acodec="pcm_f32le", ac=stream.channels, loglevel="error")
            .compile(cmd=binary("ffmpeg"))
        )
        self._command = [*command[:1], "-nostdin", *command[1:]]

    def blocks(self) -> Iterator[Samples]:
        """Blocks of shape (samples, channels); afterwards ``messages`` holds the decoder's complaints."""
        frame = 4 * self._channels
        # A pipe of complaints that nobody reads could block the decoder, so they go to a file. It has a session of its
        # own: what Ctrl-C ends early would look like sound that is cut off.
        with tempfile.TemporaryFile() as complaints:
            with subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=complaints, start_new_session=True
            ) as process:
                if process.stdout is None:
                    msg = "ffmpeg gives no output"
                    raise RuntimeError(msg)
                try:
                    while chunk := process.stdout.read(_BLOCK * frame):
                        samples = np.frombuffer(chunk[: len(chunk) // frame * frame], dtype="<f4")
                        yield samples.reshape(-1, self._channels)
                finally:
                    process.kill()
            complaints.seek(0)
            lines = complaints.read().decode(errors="replace").strip().splitlines()
        self.messages = tuple(shown(line, self._recording) for line in lines)
