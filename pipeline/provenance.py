"""What made an artifact, and whether it is still what would be made now."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pipeline import __version__
from pipeline.store import Json, atomic_path, digest_file, digest_json

__all__ = ["DigestCache", "Provenance", "package_versions"]


@dataclass(frozen=True)
class Provenance:
    """Everything that decides the bytes of a station's outputs."""

    station: str
    version: int
    """The station's own version, raised when its result changes for the same inputs."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Input name to SHA-256."""
    parameters: Mapping[str, Json] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    """Model role to name or SHA-256 of its weights."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Package to version, for those whose version changes the result."""
    tool: str = __version__
    """Version of this tool; kept for the record, not part of the fingerprint: ``version`` says when results change."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 over everything but ``tool``: equal fingerprints mean equal outputs."""
        return digest_json({name: value for name, value in self.to_json().items() if name != "tool"})

    def to_json(self) -> dict[str, Json]:
        """The record as stored beside the artifacts."""
        return {
            "station": self.station,
            "version": self.version,
            "inputs": dict(self.inputs),
            "parameters": dict(self.parameters),
            "models": dict(self.models),
            "packages": dict(self.packages),
            "tool": self.tool,
        }


@cache
def _package_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def package_versions(names: Iterable[str]) -> dict[str, str]:
    """Installed versions by distribution name; ``missing`` where one is not installed."""
    return {name: _package_version(name) for name in sorted(names)}


class DigestCache:
    """SHA-256 of files, remembered by size and modification time, so that a rerun does not read gigabytes again.

    The cache is a file beside the artifacts. A file whose size or time (in nanoseconds) changed is read again. Losing
    the cache costs time, nothing else.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, list[Json]] = {}
        self._dirty = False
        with contextlib.suppress(FileNotFoundError, ValueError):
            self._known = json.loads(path.read_bytes())

    def digest(self, file: Path) -> str:
        """SHA-256 of a file's content.

        Raises:
            FileNotFoundError: If there is no such file.
        """
        stat = file.stat()
        name = os.path.relpath(file.absolute(), self._path.parent.absolute())
        stamp = [stat.st_size, stat.st_mtime_ns]
        known = self._known.get(name)
        if known is not None and known[:2] == stamp:
            return str(known[2])
        digest = digest_file(file)
        self._known[name] = [*stamp, digest]
        self._dirty = True
        return digest

    def save(self) -> None:
        """Write the cache if it changed."""
        if self._dirty:
            with atomic_path(self._path, flush=False) as temporary:
                temporary.write_text(json.dumps(self._known, sort_keys=True), encoding="utf-8")
            self._dirty = False
