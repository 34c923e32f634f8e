"""Cutting a scene out of an episode, to the frame, so that annotated times are times of the clip.

An episode that runs at another speed is brought back to the scene's: every frame is kept and shown for longer or
shorter, and the sound is played at the rate that fits. So picture and sound stay together exactly, and the pitch that
television raised is as it was. Row times need no mapping anywhere after that.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from pipeline.errors import InputError
from pipeline.extras import load
from pipeline.locate.align import Fit
from pipeline.locate.scene import Scene
from pipeline.media.ffmpeg import SAFE_INPUT, binary, file_url, shown
from pipeline.media.frames import FrameGrid, native_grid
from pipeline.media.probe import AudioStream, MediaInfo
from pipeline.store import Json, atomic_path
from pipeline.times import Seconds, round_time

__all__ = ["CUT_VERSION", "ScenePlan", "Stretch", "cut_scene", "plan_scene", "suffix_of"]

CUT_VERSION = 1
"""Raised when the same plan gives another clip."""
_TAIL: Seconds = 1.0
"""Kept after the last row."""
_SEEN_DRIFT: Seconds = 0.02
"""Drift over a scene under which its speed is left alone: half a frame."""
_ROUNDING: Seconds = 0.001
_LEAD: Seconds = 10.0
"""Read before the first frame that is used: some formats are sought only roughly."""


@dataclass(frozen=True)
class Stretch:
    """A piece of the episode that goes into the clip."""

    start: Seconds
    """From the start of the episode; where there is a picture, when a frame of it begins."""
    length: Seconds
    """In the clip."""
    frames: int | None
    """Pictures in the clip; None where there is only sound."""


@dataclass(frozen=True)
class ScenePlan:
    """What is cut."""

    stretches: tuple[Stretch, ...]
    speed: Fraction
    """How many times faster the episode runs than the clip; 1 where that cannot be seen over the scene's length."""
    rate: Fraction | None
    """Frames a second of the clip."""

    @property
    def length(self) -> Seconds:
        """Of the clip."""
        return sum(stretch.length for stretch in self.stretches)

    def to_json(self) -> dict[str, Json]:
        """The JSON form."""
        return {
            "stretches": [
                {"start": round_time(part.start), "length": round_time(part.length), "frames": part.frames}
                for part in self.stretches
            ],
            "speed": str(self.speed),
            "frame_rate": str(self.rate) if self.rate else None,
        }


def suffix_of(info: MediaInfo) -> str:
    """What a clip of the episode is named: ``.mp4``, or ``.flac`` where there is only sound."""
    return ".mp4" if info.video else ".flac"


def plan_scene(found: Fit, scene: Scene, info: MediaInfo, duration: Seconds) -> ScenePlan:
    """Which stretches of an episode, to the frame, make the clip of a scene.

    The clip begins with the frame nearest to the scene's zero, so that row times are off by at most half a frame. It
    ends a second after the last row, or with the episode.

    Args:
        found: Where the scene lies.
        scene: Its rows.
        info: What `probe` says of the episode.
        duration: Length of the episode in seconds.
    """
    speed = found.speed if abs(float(found.speed) - 1) * scene.end > _SEEN_DRIFT else Fraction(1)
    grid = _grid(info)
    rate = None
    if grid is not None:
        rate = grid.rate if grid.held else grid.rate / speed
    borders = [*(part.start for part in found.parts), scene.end + _TAIL]
    stretches = []
    for position, part in enumerate(found.parts):
        start = part.offset + part.start / float(speed)
        said = borders[position + 1] - part.start
        length = min(said, (duration - start) * float(speed))
        if grid is None or rate is None:
            stretches.append(Stretch(start, length, None))
            continue
        # Counted by hand: where the scene begins before the episode, the frame has a negative number.
        first = round((start - grid.start) * grid.rate)
        frames = max(1, round(length * rate))
        stretches.append(Stretch(grid.start + float(first / grid.rate), float(frames / rate), frames))
    return ScenePlan(tuple(stretches), speed, rate)


def cut_scene(episode: Path, info: MediaInfo, sound: AudioStream | None, plan: ScenePlan, target: Path) -> None:
    """Write the clip: H.264 and AAC, upright with square pixels, or FLAC where there is only sound.

    What a recording lacks at its edges is filled: with the first or last frame, and with silence.

    Args:
        episode: The recording.
        info: What `probe` says of it.
        sound: The track to use.
        plan: What to cut.
        target: The file, whole or not at all.

    Raises:
        InputError: If ffmpeg cannot decode or encode it; the message holds its reason.
    """
    ffmpeg = load("ffmpeg", "speech")
    grid = _grid(info)
    streams: list[Any] = []
    for stretch in plan.stretches:
        source = ffmpeg.input(
            file_url(episode), copyts=None, ss=round(max(0.0, stretch.start - _LEAD), 3), **SAFE_INPUT
        )
        if info.video is not None and grid is not None:
            streams.append(_picture(source[str(info.video.index)], info, grid, plan, stretch))
        if sound is not None:
            streams.append(_sound(source[str(sound.index)], info, sound, plan, stretch))
    if len(plan.stretches) > 1:
        joined = ffmpeg.concat(*streams, v=int(grid is not None), a=int(sound is not None)).node
        streams = [joined[position] for position in range((grid is not None) + (sound is not None))]
    with atomic_path(target) as temporary:
        options: dict[str, Any] = {"loglevel": "error", "fflags": "+bitexact", "map_metadata": -1}
        if grid is not None:
            options |= {"vcodec": "libx264", "preset": "veryfast", "crf": 18, "pix_fmt": "yuv420p"}
            options |= {"vsync": "passthrough", "flags:v": "+bitexact", "movflags": "+faststart"}
        if sound is not None:
            options |= {"acodec": "aac", "b:a": "192k"} if grid is not None else {"acodec": "flac"}
            options |= {"flags:a": "+bitexact"}
        command = ffmpeg.output(*streams, file_url(temporary), **options).global_args("-nostdin")
        try:
            command.run(cmd=binary("ffmpeg"), capture_stdout=True, capture_stderr=True, overwrite_output=True)
        except ffmpeg.Error as error:
            lines = error.stderr.decode(errors="replace").strip().splitlines()
            msg = f"the scene cannot be cut: {shown(lines[-1], episode) if lines else 'ffmpeg gives no reason'}"
            hint = "play the episode there to see if it is whole, and see whether the disk has room"
            raise InputError(msg, file=episode, hint=hint) from error


def _picture(stream: Any, info: MediaInfo, grid: FrameGrid, plan: ScenePlan, stretch: Stretch) -> Any:
    # Held frames: the one that is shown at a time may be stamped a hair later, where the container rounds.
    zero = info.clock_start + stretch.start + (_ROUNDING if grid.held else 0.0)
    return (
        stream.filter("setpts", f"(PTS-{zero:.6f}/TB)*{plan.speed}")
        .filter("fps", fps=str(plan.rate), start_time=0, round="up" if grid.held else "near")
        .filter("tpad", stop=-1, stop_mode="clone")
        .filter("trim", end_frame=stretch.frames)
        .filter("scale", grid.width, grid.height)
        .filter("setsar", 1)
        .filter("format", "yuv420p")
    )


def _sound(stream: Any, info: MediaInfo, sound: AudioStream, plan: ScenePlan, stretch: Stretch) -> Any:
    zero = info.clock_start + stretch.start
    rate = sound.sample_rate
    moved = (
        stream.filter("atrim", start=f"{zero:.6f}", end=f"{zero + stretch.length / float(plan.speed) + 1:.6f}")
        .filter("asetpts", f"PTS-{zero:.6f}/TB")
        .filter("aresample", rate, **{"async": 1, "first_pts": 0, "min_hard_comp": 0.05})
    )
    if plan.speed != 1:
        moved = moved.filter("asetrate", round(rate / plan.speed)).filter("aresample", rate)
    return moved.filter("apad").filter("atrim", end=f"{stretch.length:.6f}").filter("asetpts", "PTS-STARTPTS")


def _grid(info: MediaInfo) -> FrameGrid | None:
    return native_grid(info.video, max(info.video.width, info.video.height)) if info.video else None
