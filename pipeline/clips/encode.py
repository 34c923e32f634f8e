"""The three files of a row: the clip, its poster, and its contact sheet, made while its frames come in.

Encoding happens in this process, with PyAV: a row lasts seconds, and to start a program for each of them takes longer
than to encode it. What is decoded is the user's file, and stays with ffmpeg in a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.errors import InputError
from pipeline.extras import load
from pipeline.media.ffmpeg import file_url
from pipeline.media.frames import FrameGrid, Picture
from pipeline.settings import ClipSettings
from pipeline.store import Json, atomic_path
from pipeline.times import Seconds, round_time

__all__ = ["SUFFIXES", "ClipEncoder", "Cut"]

SUFFIXES = (".mp4", ".jpg", ".sheet.jpg")
"""What is made of a row: the clip, its poster (the first frame), and its contact sheet."""

_SOUND_BITS = 96_000
"""Bits a second of AAC."""
_AAC_FRAME = 1024
"""Samples of one frame of AAC."""
_JPEG_QUALITY = 92
_COLUMNS = 4
"""Pictures beside each other on the contact sheet."""
_THREADS = 2
"""Of one encoder. A fixed number: the same row gives the same bytes."""


@dataclass(frozen=True)
class Cut:
    """Which frames of the grid are a row's clip."""

    row: int
    first: int
    count: int
    start: Seconds
    """Time of the first frame from the start of the recording; the sound begins there too."""
    end: Seconds

    def to_json(self) -> dict[str, Json]:
        """The JSON form."""
        return {"row": self.row, "start": round_time(self.start), "end": round_time(self.end), "frames": self.count}


class ClipEncoder:
    """Makes the three files of one row from the frames that it is fed.

    Args:
        cut: The row.
        sound: The sound on the clip's time axis; None for a clip without.
        grid: The frames that the cut counts in.
        scratch: Where the files grow.
        settings: Size, quality, contact sheet.

    Raises:
        InputError: If the encoder is missing.
        PrerequisiteError: If the extra ``vision`` is not installed.
    """

    def __init__(self, cut: Cut, sound: Path | None, grid: FrameGrid, scratch: Path, settings: ClipSettings) -> None:
        self.left = cut.count
        self._cut = cut
        self._scratch = scratch
        self._stills = _Stills(cut.count, settings)
        self._av = load("av", "vision")
        try:
            self._open(sound, grid, settings)
        except (self._av.FFmpegError, ValueError) as error:
            raise self._failed(error) from error

    def write(self, picture: Picture) -> None:
        """Take the next frame, (height * 3 / 2, width) in yuv420p."""
        frame = self._av.VideoFrame.from_ndarray(picture, format="yuv420p")
        frame.pts = self._cut.count - self.left
        try:
            self._file.mux(self._video.encode(frame))
        except self._av.FFmpegError as error:
            raise self._failed(error) from error
        self._stills.see(picture, frame.pts)
        self.left -= 1

    def finish(self, folder: Path) -> None:
        """End the clip and put the three files in place."""
        try:
            self._file.mux(self._video.encode())
            self._file.close()
        except self._av.FFmpegError as error:
            raise self._failed(error) from error
        poster, sheet = self._stills.jpegs()
        self._part(".jpg").write_bytes(poster)
        self._part(".sheet.jpg").write_bytes(sheet)
        for suffix in SUFFIXES:
            with atomic_path(folder / self._part(suffix).name) as temporary:
                self._part(suffix).replace(temporary)

    def abandon(self) -> None:
        """Let go of a clip that will not be finished."""
        self._file.close()

    def _open(self, sound: Path | None, grid: FrameGrid, settings: ClipSettings) -> None:
        exact = {"fflags": "+bitexact", "movflags": "+faststart"}
        self._file = self._av.open(file_url(self._part(".mp4")), "w", format="mp4", options=exact)
        options = {"preset": settings.preset, "crf": str(settings.crf), "flags": "+bitexact"}
        self._video: Any = self._file.add_stream("libx264", rate=grid.rate, options=options)
        self._video.width, self._video.height, self._video.pix_fmt = grid.width, grid.height, "yuv420p"
        self._video.codec_context.time_base = 1 / grid.rate
        self._video.codec_context.thread_count = _THREADS
        if sound is not None:
            self._write_sound(sound)

    def _write_sound(self, sound: Path) -> None:
        rate, samples = _samples(sound, self._cut)
        # The slow search for the best coder is for few bits; there are plenty for one channel of speech.
        options = {"flags": "+bitexact", "aac_coder": "fast"}
        stream = self._file.add_stream("aac", rate=rate, layout="mono", options=options)
        stream.bit_rate = _SOUND_BITS
        for begin in range(0, len(samples), _AAC_FRAME):
            part = samples[None, begin : begin + _AAC_FRAME]
            frame = self._av.AudioFrame.from_ndarray(part, format="fltp", layout="mono")
            frame.sample_rate, frame.pts, frame.time_base = rate, begin, Fraction(1, rate)
            self._file.mux(stream.encode(frame))
        self._file.mux(stream.encode())

    def _part(self, suffix: str) -> Path:
        return self._scratch / f"{self._cut.row}{suffix}"

    def _failed(self, error: Exception) -> InputError:
        return InputError(
            f"the clip cannot be encoded: {error}",
            place=f"row {self._cut.row}",
            hint="see whether PyAV has libx264, and the disk room",
        )


class _Stills:
    """The poster and the pictures of the contact sheet, small already."""

    def __init__(self, count: int, settings: ClipSettings) -> None:
        self._width = settings.sheet_width
        parts = min(settings.sheet_frames, count)
        # The middles of as many equal parts.
        self._places = {count * (2 * part + 1) // (2 * parts) for part in range(parts)}
        self._poster: Picture | None = None
        self._pictures: list[Picture] = []

    def see(self, picture: Picture, index: int) -> None:
        """Keep what is shown of frame ``index``."""
        if index and index not in self._places:
            return
        cv2 = load("cv2", "vision")
        colours = cv2.cvtColor(picture, cv2.COLOR_YUV2BGR_I420)
        if not index:
            self._poster = colours
        if index in self._places:
            height, width = colours.shape[:2]
            smaller = min(self._width, width)
            size = (smaller, max(2, round(height * smaller / width / 2) * 2))
            self._pictures.append(cv2.resize(colours, size, interpolation=cv2.INTER_AREA))

    def jpegs(self) -> Iterator[bytes]:
        """The poster, then the sheet."""
        cv2 = load("cv2", "vision")
        columns = min(_COLUMNS, len(self._pictures))
        tiles = [*self._pictures, *[np.zeros_like(self._pictures[0])] * (-len(self._pictures) % columns)]
        sheet = np.vstack([np.hstack(tiles[at : at + columns]) for at in range(0, len(tiles), columns)])
        for picture in (self._poster, sheet):
            yield cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])[1].tobytes()


def _samples(sound: Path, cut: Cut) -> tuple[int, npt.NDArray[np.float32]]:
    """Samples a second, and those of the cut; fewer where the sound ends before."""
    soundfile = load("soundfile", "speech")
    with soundfile.SoundFile(sound) as opened:
        rate = int(opened.samplerate)
        first = min(opened.frames, round(cut.start * rate))
        opened.seek(first)
        samples = opened.read(max(0, round(cut.end * rate) - first), dtype="float32", always_2d=True)
    return rate, np.ascontiguousarray(samples[:, 0])
