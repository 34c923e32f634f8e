"""A clip of each row: cut frame-exactly, upright, with its sound, a poster and a contact sheet.

The recording is decoded once for all rows. Each row has an encoder of its own that is fed while the row lasts, so rows
may overlap and memory does not grow with length.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pipeline.clips.encode import ClipEncoder, Cut
from pipeline.media.frames import FrameGrid, Picture, decode
from pipeline.media.probe import MediaInfo
from pipeline.settings import ClipSettings
from pipeline.times import Interval, Seconds

__all__ = ["Hide", "cut_clips", "plan_cuts"]

Hide = Callable[[Picture], Picture]
"""Gives a yuv420p picture in which faces cannot be recognised."""


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
        PrerequisiteError: If the extra ``vision`` is not installed.
    """
    waiting = deque(sorted(cuts, key=lambda cut: (cut.first, cut.row)))
    running: list[ClipEncoder] = []
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".cut-", dir=folder) as scratch:
        try:
            for index, picture in enumerate(_held(decode(recording, info, grid, "yuv420p"), cuts)):
                while waiting and waiting[0].first <= index:
                    running.append(ClipEncoder(waiting.popleft(), sound, grid, Path(scratch), settings))
                if not running:
                    continue
                shown = hide(picture) if hide else picture
                for encoder in running:
                    encoder.write(shown)
                while done := next((encoder for encoder in running if not encoder.left), None):
                    done.finish(folder)
                    running.remove(done)
        finally:
            for encoder in running:
                encoder.abandon()


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
