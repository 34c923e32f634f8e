"""Frames of a recording, upright and with square pixels, on an even grid of times; decoded once and streamed."""

from __future__ import annotations

import math
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from pipeline.errors import InputError
from pipeline.media.ffmpeg import SAFE_INPUT, binary, file_url, shown
from pipeline.media.probe import MediaInfo, VideoStream
from pipeline.times import Seconds

__all__ = ["FrameGrid", "Picture", "decode", "native_grid", "sampled_grid"]

Picture = npt.NDArray[np.uint8]

_PIPE = 1 << 20
"""Bytes that the decoder may be ahead; the usual 64 KiB hold no whole picture, and stop it many times for each."""
_TOLERANCE = 0.001
"""Seconds; times are stored in milliseconds, and some containers keep no finer ones."""


@dataclass(frozen=True)
class FrameGrid:
    """Evenly spaced times at which a recording is looked at."""

    rate: Fraction
    """Frames a second."""
    start: Seconds
    """Time of frame 0 from the start of the clip: when the picture begins."""
    width: int
    """Pixels, upright."""
    height: int
    held: bool
    """A grid time shows the latest frame up to it. Else every frame of the recording is one of the grid's, and small
    errors of its time are evened out."""

    def time(self, index: int) -> Seconds:
        """When frame ``index`` is shown."""
        return self.start + float(index / self.rate)

    def index(self, time: Seconds) -> int:
        """The frame that is shown at a time; 0 before the picture begins."""
        return max(0, math.floor((time - self.start + _TOLERANCE) * self.rate))


def native_grid(video: VideoStream, longest: int) -> FrameGrid:
    """The recording's own frames; where its rate varies, 30 or 60 times a second with frames held.

    Args:
        video: The stream.
        longest: Largest size of the longer side in pixels; smaller pictures stay as they are.
    """
    width, height = _even_size(video, longest)
    if video.variable_frame_rate:
        return FrameGrid(Fraction(60 if video.fps > 31 else 30), video.start, width, height, held=True)
    return FrameGrid(_exact(video.fps), video.start, width, height, held=False)


def sampled_grid(video: VideoStream, rate: float, longest: int) -> FrameGrid:
    """A frame every ``1 / rate`` seconds, but not more than the recording has."""
    width, height = _even_size(video, longest)
    wanted = Fraction(rate).limit_denominator(1000)
    if not video.variable_frame_rate and video.fps <= rate:
        return native_grid(video, longest)
    return FrameGrid(wanted, video.start, width, height, held=True)


def decode(recording: Path, info: MediaInfo, grid: FrameGrid, form: Literal["yuv420p", "bgr24"]) -> Iterator[Picture]:
    """Every frame of the grid in order, as bytes of one frame: (height * 3 / 2, width) for yuv420p, else (h, w, 3).

    A damaged place shows the frame before it. Memory holds one frame.

    Raises:
        InputError: If not a single frame can be decoded.
    """
    if info.video is None:
        msg = "the recording has no picture"
        raise InputError(msg, file=recording)
    shape = (grid.height * 3 // 2, grid.width) if form == "yuv420p" else (grid.height, grid.width, 3)
    size = math.prod(shape)
    found = False
    # A pipe of complaints that nobody reads could block the decoder, so they go to a file.
    with tempfile.TemporaryFile() as complaints:
        with subprocess.Popen(
            _command(recording, info, info.video, grid, form), stdout=subprocess.PIPE, stderr=complaints, pipesize=_PIPE
        ) as process:
            if process.stdout is None:
                msg = "ffmpeg gives no output"
                raise RuntimeError(msg)
            try:
                while len(content := process.stdout.read(size)) == size:
                    found = True
                    yield np.frombuffer(content, dtype=np.uint8).reshape(shape)
            finally:
                process.kill()
        complaints.seek(0)
        lines = complaints.read().decode(errors="replace").strip().splitlines()
    if not found:
        reason = shown(lines[-1], recording) if lines else "the decoder gives no reason"
        msg = f"no picture could be decoded: {reason}"
        raise InputError(msg, file=recording, hint="play it to see if it is whole, or convert it to mp4")


def _command(recording: Path, info: MediaInfo, video: VideoStream, grid: FrameGrid, form: str) -> list[str]:
    zero = info.clock_start + video.start + (_TOLERANCE if grid.held else 0)
    filters = (
        f"setpts=PTS-({zero:.6f})/TB",
        f"fps=fps={grid.rate}:start_time=0:round={'up' if grid.held else 'near'}",
        f"scale={grid.width}:{grid.height}",
        "setsar=1",
        f"format={form}",
    )
    safe = [part for name, value in SAFE_INPUT.items() for part in (f"-{name}", str(value))]
    return [binary("ffmpeg"), "-nostdin", "-v", "error", "-copyts", *safe, "-i", file_url(recording),
            "-map", f"0:{video.index}", "-vf", ",".join(filters), "-vsync", "passthrough",
            "-f", "rawvideo", "pipe:1"]  # fmt: skip


def _exact(fps: float) -> Fraction:
    """The rate that a rounded one stands for: NTSC rates are thousands over 1001."""
    whole = round(fps * 1.001)
    if whole and abs(fps - whole * 1000 / 1001) < 0.002:
        return Fraction(whole * 1000, 1001)
    return Fraction(fps).limit_denominator(1000) if fps > 0 else Fraction(25)


def _even_size(video: VideoStream, longest: int) -> tuple[int, int]:
    """Width and height with the same shape, both even as the pixel format demands."""
    scale = min(1.0, longest / max(video.width, video.height, 1))
    width, height = (max(2, round(side * scale / 2) * 2) for side in (video.width, video.height))
    return width, height
