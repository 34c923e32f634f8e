"""Reading and writing files: one atomic writer, one digest, one JSON form."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

__all__ = ["Json", "atomic_path", "digest_file", "digest_json", "read_json", "write_bytes", "write_json", "write_text"]

Json: TypeAlias = Any
"""A JSON value: None, bool, int, float, str, or lists and string-keyed dicts of these."""


@contextmanager
def atomic_path(target: Path, *, flush: bool = True) -> Iterator[Path]:
    """A temporary path beside ``target`` that becomes ``target`` when the block ends well.

    Guarantee: ``target`` is either as before or complete, also after ``kill -9`` or a power cut, since the content is
    flushed before the rename; a power cut may undo a rename, never half of it. When the block raises, nothing is left
    behind. Scope: one file, one file system; two writers of the same target do not mix, the last one wins.

    Args:
        target: The file to write; its folder is made.
        flush: Wait for the disk. Without it a power cut may leave an empty file: for caches only.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    # The suffix is kept because ffmpeg and others choose the format by it.
    handle, name = tempfile.mkstemp(prefix=f".{target.stem[:40]}.", suffix=f".tmp{target.suffix}", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        if flush:
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(target: Path, content: bytes) -> None:
    """Write bytes atomically. A target that already holds exactly these bytes is left untouched."""
    if target.is_file() and target.read_bytes() == content:
        return
    with atomic_path(target) as temporary:
        temporary.write_bytes(content)


def write_text(target: Path, content: str) -> None:
    """Write text atomically as UTF-8, line ends as given."""
    write_bytes(target, content.encode())


def write_json(target: Path, value: Json) -> None:
    """Write JSON atomically: sorted keys, two blanks of indent, a newline at the end; never NaN."""
    write_text(target, json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, allow_nan=False) + "\n")


def read_json(source: Path) -> Json:
    """Read a JSON file written by `write_json`.

    Raises:
        ValueError: If the file is not JSON.
    """
    return json.loads(source.read_bytes())


def digest_json(value: Json) -> str:
    """SHA-256 of the canonical JSON form of a value, as hexadecimal text."""
    canonical = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def digest_file(source: Path) -> str:
    """SHA-256 of a file's content, as hexadecimal text; reads in pieces, so memory does not grow with the file."""
    with source.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
