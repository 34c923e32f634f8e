"""A clip of each row: cut frame-exactly, upright, with its sound, a poster and a contact sheet.

The recording is decoded once for all rows. Each row has an encoder of its own that is fed while the row lasts, so rows
may overlap and memory does not grow with length.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import InputError
from pipeline.media.ffmpeg import binary, file_url
from pipeline.media.frames import FrameGrid, Picture, decode
from pipeline.media.probe import MediaInfo
from pipeline.settings import ClipSettings
from pipeline.store import Json, atomic_path
from pipeline.times import Interval, Seconds, round_time

__all__ = ["SUFFIXES", "Cut", "Hide", "cut_clips", "plan_cuts"]

SUFFIXES = (".mp4", ".jpg", ".sheet.jpg")
"""What is made of a row: the clip, its poster (the first frame), and its contact sheet."""

Hide = Callable[[Picture], Picture]
"""Gives a yuv420p picture in which faces cannot be recognised."""

_AT_ONCE = 4
"""Encoders that may still be finishing while the next rows are fed."""


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


def plan_cuts(rows: Sequence[tuple[int, Interval]], grid: FrameGrid, duration: Seconds, padding: Seconds) -> list[Cut]:
    """The frames of each row: from the one shown at its start, as many as fit its length best, at least one.

    Rows that end before the picture begins, or begin after the recording ends, are left out.
    """
    cuts = []
    for row, interval in rows:
        start, end = max(grid.start, interval.start - padding), min(duration, interval.end + padding)
        if start >= duration or end < start:
            continue
        first = grid.index(start)
        count = max(1, round((end - start) * grid.rate))
        begin = grid.time(first)
        cuts.append(Cut(row, first, count, begin, begin + float(count / grid.rate)))
    return cuts


def cut_clips(
    recording: Path,
    info: MediaInfo,
    sound: Path | None,
    cuts: Sequence[Cut],
    grid: FrameGrid,
    folder: Path,
    settings: ClipSettings,
    hide: Hide | None = None,
) -> None:
    """Write ``<row>.mp4``, ``<row>.jpg`` and ``<row>.sheet.jpg`` for every cut, in one pass over the recording.

    Args:
        recording: The user's file.
        info: What `probe` says of it.
        sound: The sound on the clip's time axis; None for clips without.
        cuts: What to cut.
        grid: The frames that the cuts count in.
        folder: Where the clips go.
        settings: Size, quality, contact sheet.
        hide: Makes faces unrecognisable.

    Raises:
        InputError: If the picture cannot be decoded or a clip not be encoded.
    """
    waiting = deque(sorted(cuts, key=lambda cut: (cut.first, cut.row)))
    running: list[_Encoder] = []
    closing: deque[_Encoder] = deque()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".cut-", dir=folder) as scratch:
        try:
            for index, picture in enumerate(_held(decode(recording, info, grid, "yuv420p"), cuts)):
                while waiting and waiting[0].first <= index:
                    running.append(_Encoder(waiting.popleft(), sound, grid, Path(scratch), settings))
                if not running:
                    continue
                content = (hide(picture) if hide else picture).tobytes()
                for encoder in running:
                    encoder.write(content)
                closing.extend(encoder for encoder in running if not encoder.left)
                running = [encoder for encoder in running if encoder.left]
                while len(closing) > _AT_ONCE:
                    closing.popleft().finish(folder)
            while closing:
                closing.popleft().finish(folder)
        finally:
            for encoder in (*running, *closing):
                encoder.kill()


def _held(pictures: Iterator[Picture], cuts: Sequence[Cut]) -> Iterator[Picture]:
    """The pictures up to the last one needed; where the picture ends before the sound, its last frame stays."""
    needed = max((cut.first + cut.count for cut in cuts), default=0)
    seen, last = 0, None
    if needed:
        for picture in pictures:
            yield picture
            seen, last = seen + 1, picture
            if seen == needed:
                return
    while last is not None and seen < needed:
        yield last
        seen += 1


class _Encoder:
    """ffmpeg, making the three files of one row from the frames it is fed."""

    def __init__(self, cut: Cut, sound: Path | None, grid: FrameGrid, scratch: Path, settings: ClipSettings) -> None:
        self.left = cut.count
        self._cut = cut
        self._scratch = scratch
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `finish` or `kill`
        self._process = subprocess.Popen(
            _encode_command(cut, sound, grid, scratch, settings), stdin=subprocess.PIPE, stderr=self._complaints
        )

    def write(self, picture: bytes) -> None:
        """Feed one frame; the last one closes the pipe."""
        if self._process.stdin is None:
            msg = "ffmpeg takes no input"
            raise RuntimeError(msg)
        try:
            self._process.stdin.write(picture)
            self.left -= 1
            if not self.left:
                self._process.stdin.close()
        except BrokenPipeError as error:
            raise self._failed() from error

    def finish(self, folder: Path) -> None:
        """Wait for the encoder and put its files in place."""
        if self._process.wait():
            raise self._failed()
        self._complaints.close()
        for suffix in SUFFIXES:
            name = f"{self._cut.row}{suffix}"
            with atomic_path(folder / name) as temporary:
                (self._scratch / name).replace(temporary)

    def kill(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        self._complaints.close()

    def _failed(self) -> InputError:
        self._process.wait()
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors="replace").strip().splitlines()
        msg = f"the clip cannot be encoded: {lines[-1] if lines else 'the encoder gives no reason'}"
        return InputError(
            msg, place=f"row {self._cut.row}", hint="see whether this ffmpeg has libx264, and the disk room"
        )


def _encode_command(cut: Cut, sound: Path | None, grid: FrameGrid, scratch: Path, settings: ClipSettings) -> list[str]:
    def target(suffix: str) -> str:
        return file_url(scratch / f"{cut.row}{suffix}")

    length = f"{cut.end - cut.start:.6f}"
    listen = ["-ss", f"{cut.start:.6f}", "-t", length, "-i", file_url(sound)] if sound else []
    count = min(settings.sheet_frames, cut.count)
    shown_frames = "+".join(f"eq(n,{cut.count * (2 * part + 1) // (2 * count)})" for part in range(count))
    columns = min(4, count)
    sheet = f"select='{shown_frames}',scale='min({settings.sheet_width},iw)':-2,tile={columns}x{-(-count // columns)}"
    # Bit-exact, and with a fixed number of threads: the same row gives the same bytes.
    return [binary("ffmpeg"), "-nostdin", "-y", "-v", "error", "-f", "rawvideo", "-pix_fmt", "yuv420p",
            "-s", f"{grid.width}x{grid.height}", "-r", str(grid.rate), "-i", "pipe:0", *listen,
            "-map", "0:v", *(["-map", "1:a", "-c:a", "aac", "-b:a", "96k", "-flags:a", "+bitexact"] if sound else []),
            "-c:v", "libx264", "-preset", settings.preset, "-crf", str(settings.crf), "-pix_fmt", "yuv420p",
            "-threads", "2", "-flags:v", "+bitexact", "-fflags", "+bitexact", "-map_metadata", "-1",
            "-movflags", "+faststart", target(".mp4"),
            "-map", "0:v", "-frames:v", "1", "-q:v", "3", "-fflags", "+bitexact", target(".jpg"),
            "-map", "0:v", "-vf", sheet, "-frames:v", "1", "-q:v", "3", "-fflags", "+bitexact",
            target(".sheet.jpg")]  # fmt: skip
