"""Small recordings made with ffmpeg, each with one thing that real ones have."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pipeline.conversation import Conversation
from pipeline.media.audio import SAMPLE_RATE
from pipeline.media.stations import AudioStation, SourceStation
from pipeline.settings import Settings
from pipeline.station import Outcome, Workspace

PICTURE = ["-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration={seconds}"]
TONE = ["-f", "lavfi", "-i", "sine=frequency={hertz}:sample_rate=44100:duration={seconds}"]
MP4 = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a", "aac"]


def picture(seconds: float) -> list[str]:
    return [part.format(seconds=seconds) for part in PICTURE]


def tone(seconds: float, hertz: int = 440) -> list[str]:
    return [part.format(seconds=seconds, hertz=hertz) for part in TONE]


def make(target: Path, *arguments: str) -> Path:
    command = ["ffmpeg", "-nostdin", "-y", "-v", "error", *arguments, f"file:{target}"]
    subprocess.run(command, check=True)
    return target


def cut(target: Path, share: float) -> Path:
    content = target.read_bytes()
    target.write_bytes(content[: int(len(content) * share)])
    return target


def take_in(recording: Path, data: Path, **known: object) -> tuple[Workspace, Outcome, Outcome]:
    """Run both stations of media on a recording."""
    settings = Settings(data=data, raw=recording.parent)
    conversation = Conversation.model_validate({"id": "one", "media": recording.name, **known})
    workspace = Workspace.of(conversation, recording.parent, settings)
    with workspace.locked() as digests:
        source, audio = (station.process(workspace, digests) for station in (SourceStation(), AudioStation()))
    return workspace, source, audio


def onset(samples: npt.NDArray[np.float32]) -> float:
    """When sound first rises well above silence, in seconds."""
    return float(np.argmax(np.abs(samples) > 0.02)) / SAMPLE_RATE


def level(samples: npt.NDArray[np.float32], start: float, end: float) -> float:
    """Root mean square of a stretch."""
    part = samples[round(start * SAMPLE_RATE) : round(end * SAMPLE_RATE)]
    return float(np.sqrt(np.mean(np.square(part))))
