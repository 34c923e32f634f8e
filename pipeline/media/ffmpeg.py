"""Where ffmpeg is, and how it is told to open a file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from pipeline.errors import PrerequisiteError

__all__ = ["SAFE_INPUT", "binary", "file_url", "shown", "version"]

_FORMATS = (
    "aac,ac3,aiff,amr,ape,asf,au,avi,caf,dv,eac3,flac,flv,gxf,h264,hevc,m4v,matroska,mov,mp3,mpeg,mpegts,mpegvideo,mxf,"
    "nut,ogg,rm,tta,w64,wav,wv"
)
SAFE_INPUT: dict[str, Any] = {"protocol_whitelist": "file", "format_whitelist": _FORMATS}
"""Options for every input: only local files, and only formats that hold the media themselves. Playlists and lists of
files, whatever their name says, could make ffmpeg open other files or the network."""


@cache
def binary(name: str) -> str:
    """Path of ``ffmpeg`` or ``ffprobe``: from ``PATH``, else beside this Python.

    Raises:
        PrerequisiteError: If it is found nowhere.
    """
    beside = Path(sys.prefix) / "bin" / name
    found = shutil.which(name) or (str(beside) if os.access(beside, os.X_OK) else None)
    if found is None:
        msg = f"{name} is not installed"
        raise PrerequisiteError(msg, hint="sudo apt-get install ffmpeg, or brew install ffmpeg, or make setup")
    return found


@cache
def version() -> str:
    """Version of the ffmpeg in use, for example ``5.1.9-0+deb12u1``.

    Raises:
        PrerequisiteError: If there is none, or it does not run.
    """
    try:
        done = subprocess.run([binary("ffmpeg"), "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        msg = f"ffmpeg does not run: {error}"
        raise PrerequisiteError(msg, hint="install it again") from error
    return done.stdout.split(maxsplit=3)[2]


def file_url(path: Path) -> str:
    """How a file is named to ffmpeg: absolute, with its protocol, so that no name is read as an option or address."""
    return f"file:{path.absolute()}"


def shown(message: str, path: Path) -> str:
    """A message of ffmpeg without the place of the file, and on one line."""
    bare = message.replace(file_url(path), path.name).replace(str(path.absolute()), path.name)
    return " ".join(bare.split())
