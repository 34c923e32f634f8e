"""What the browser plays: the recording itself where browsers can, else a copy they can; and the waveform.

A browser turns a picture upright and starts at the container's zero, as every time here counts. What it cannot play is
converted once, in the background; until then there is the sound.
"""

from __future__ import annotations

import logging
import subprocess
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout

from pipeline.errors import RescueError
from pipeline.extras import load
from pipeline.links import leads_out
from pipeline.media.audio import SAMPLE_RATE
from pipeline.media.ffmpeg import SAFE_INPUT, binary, file_url
from pipeline.review.library import source_facts
from pipeline.review.rights import make_private
from pipeline.station import Record, State, Workspace
from pipeline.store import Json, atomic_path, write_bytes

__all__ = ["POINTS_PER_SECOND", "Playable", "not_played", "playable", "prepare", "waveform"]

logger = logging.getLogger(__name__)

POINTS_PER_SECOND = 50
_CODECS = {"video/mp4": ({"h264", "av1"}, {"aac", "mp3"}), "video/webm": ({"vp8", "vp9", "av1"}, {"opus", "vorbis"})}


@dataclass(frozen=True)
class Playable:
    """A file for the browser."""

    path: Path
    kind: str
    """``video`` or ``audio``."""
    type: str
    """Its media type."""
    width: int | None
    height: int | None
    fps: float | None
    preparing: bool
    """Whether a picture is still being converted."""

    def to_json(self, url: str) -> dict[str, Json]:
        """``media`` of the interface."""
        return {
            "url": url, "kind": self.kind, "type": self.type, "width": self.width, "height": self.height,
            "fps": self.fps, "preparing": self.preparing,
        }  # fmt: skip


def playable(workspace: Workspace) -> Playable | None:
    """What to play of a conversation.

    None where there is no recording that may be played, or `rescue build` has not looked at it.
    """
    facts = source_facts(workspace)
    original = _original(workspace)
    if facts is None or original is None:
        return None
    video = facts["info"].get("video")
    if video is None:
        return _sound(workspace, preparing=False)
    shape = (video["width"], video["height"], video["fps"])
    kind = _as_it_is(facts["info"], str(workspace.conversation.media))
    if kind is not None:
        return Playable(original, "video", kind, *shape, preparing=False)
    copy = _copy(workspace, facts)
    if copy.is_file():
        return Playable(copy, "video", "video/mp4", *shape, preparing=False)
    return _sound(workspace, preparing=True)


def not_played(workspace: Workspace) -> bool:
    """Whether the recording is a link out of the conversation's folder that nobody made with ``rescue add --link``."""
    path = workspace.source(workspace.conversation.media)
    return path is not None and leads_out(workspace, path)


def _original(workspace: Workspace) -> Path | None:
    # Resolved: what was judged is what is opened.
    path = workspace.source(workspace.conversation.media)
    return None if path is None or not path.is_file() or leads_out(workspace, path) else path.resolve()


def _as_it_is(info: Mapping[str, Json], name: str) -> str | None:
    """The media type, if every browser plays the file of this name."""
    names = str(info["format"]).split(",")
    kind = "video/mp4" if "mp4" in names else "video/webm" if name.casefold().endswith(".webm") else None
    if kind is None or info["video"]["hdr"]:
        return None
    pictures, sounds = _CODECS[kind]
    plays = info["video"]["codec"] in pictures and all(one["codec"] in sounds for one in info["audio"])
    return kind if plays and len(info["audio"]) < 2 else None


def _sound(workspace: Workspace, *, preparing: bool) -> Playable | None:
    audio = _audio(workspace)
    return None if audio is None else Playable(audio, "audio", "audio/flac", None, None, None, preparing)


def _audio(workspace: Workspace) -> Path | None:
    path = workspace.artifact("audio.flac")
    return path if Record.read(workspace.record("audio")).state is State.DONE and path.is_file() else None


def _copy(workspace: Workspace, facts: Mapping[str, Json]) -> Path:
    # By content: a recording that was replaced has another copy.
    return workspace.settings.review_dir / "media" / f"{workspace.conversation.key[:100]}-{facts['sha256'][:16]}.mp4"


def prepare(workspace: Workspace) -> threading.Thread | None:
    """Begin to make the copy that browsers can play, if one is needed and nobody does; returns at once."""
    found = playable(workspace)
    facts = source_facts(workspace)
    original = _original(workspace)
    if facts is None or original is None or facts["info"].get("video") is None:
        return None
    if found is not None and not found.preparing:
        return None
    target = _copy(workspace, facts)
    thread = threading.Thread(target=_convert, args=(original, _audio(workspace), target), daemon=True)
    thread.start()
    return thread


def _convert(original: Path, audio: Path | None, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(target.with_suffix(".lock"), timeout=0):
            if not target.is_file():
                with atomic_path(target) as temporary:
                    subprocess.run(_command(original, audio, temporary), capture_output=True, check=True)
                make_private(target)
    except Timeout:
        return  # another server is at it
    except (OSError, subprocess.CalledProcessError, RescueError) as error:
        logger.error("no copy for the browser could be made: %s: %s", target.name, type(error).__name__)  # noqa: TRY400 - the trace names the command


def _command(original: Path, audio: Path | None, target: Path) -> list[str]:
    safe = [part for name, value in SAFE_INPUT.items() for part in (f"-{name}", str(value))]
    command = [binary("ffmpeg"), "-v", "error", "-nostdin", "-y", *safe, "-i", file_url(original)]
    if audio is not None:  # on the clip's own time axis
        command += [*safe, "-i", file_url(audio), "-map", "1:a:0", "-c:a", "aac", "-b:a", "128k"]
    command += ["-map", "0:v:0", "-c:v", "libx264", "-preset", "veryfast", "-crf", "22", "-pix_fmt", "yuv420p"]
    # A key frame every twelve: a seek decodes little.
    command += ["-vf", "scale=trunc(iw/2)*2:trunc(ih/2)*2", "-g", "12", "-movflags", "+faststart"]
    return [*command, file_url(target)]


def waveform(workspace: Workspace) -> Path | None:
    """The file of the waveform: one byte a point, the peak of 1/50 s, 0 to 255; made once. None without sound.

    Raises:
        PrerequisiteError: If soundfile is not installed.
    """
    audio = _audio(workspace)
    if audio is None or not_played(workspace):
        return None
    found = audio.stat()
    name = f"{workspace.conversation.key[:100]}-{found.st_size:x}-{found.st_mtime_ns:x}.u8"
    target = workspace.settings.review_dir / "waveform" / name
    if not target.is_file():
        write_bytes(target, b"".join(_peaks(audio)))
        make_private(target)
    return target


def _peaks(audio: Path) -> Iterator[bytes]:
    step = SAMPLE_RATE // POINTS_PER_SECOND
    with load("soundfile", "review").SoundFile(audio) as opened:
        for block in opened.blocks(step * 3000, dtype="float32"):
            whole = np.pad(np.abs(block), (0, -len(block) % step))
            loud = whole.reshape(-1, step).max(axis=1)
            yield np.minimum(255, np.ceil(loud * 255)).astype(np.uint8).tobytes()
