"""Who built what: a folder a run, a file a worker, a line for each step that it begins or conversation that it ends.

Each worker writes to a file of its own, so that no two machines append to one file. A line is written before the step
begins: after a worker was killed, its last line says where.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipeline.store import Json

__all__ = ["ENDS", "Entry", "Journal", "read_journal"]

ENDS = "ends"
"""Stands where a step's name stands, once a conversation is through."""


@dataclass(frozen=True)
class Entry:
    """One line."""

    time: str
    """UTC, ISO 8601."""
    worker: str
    node: str
    """Name of the machine."""
    pid: int
    conversation: str
    """Its key."""
    step: str
    """The station that begins, or `ENDS`."""
    made: tuple[str, ...] = ()
    """With `ENDS`: the stations that ran and were not current."""


class Journal:
    """The file of one worker.

    Args:
        folder: The folder of the run.
        worker: Name of the worker, which is the name of the file.
        node: Name of the machine.
        pid: Its process.
    """

    def __init__(self, folder: Path, worker: str, node: str, pid: int) -> None:
        self._path = folder / f"{worker}.jsonl"
        self._who: dict[str, Json] = {"worker": worker, "node": node, "pid": pid}

    def write(self, conversation: str, step: str, made: tuple[str, ...] = ()) -> None:
        """Append one line."""
        line = {"time": datetime.now(UTC).isoformat(), **self._who, "conversation": conversation, "step": step}
        with self._path.open("a", encoding="utf-8") as opened:
            opened.write(json.dumps({**line, "made": list(made)}, ensure_ascii=False) + "\n")


def read_journal(folder: Path) -> list[Entry]:
    """Everything that the workers of a run wrote, in the order of time; a line cut off by a kill is left out."""
    return sorted(_entries(folder), key=lambda entry: entry.time)


def _entries(folder: Path) -> Iterator[Entry]:
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines(keepends=True):
            if line.endswith("\n"):
                found = json.loads(line)
                yield Entry(**{**found, "made": tuple(found["made"])})
