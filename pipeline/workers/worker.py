"""A worker: one process that keeps its models warm and builds one conversation after the other.

It runs the same library code as `rescue build` without workers. All that comes and goes between it and the process that
hands out the work is keys, names of stations and outcomes; recordings and results stay in the shared project folder.
"""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from pipeline import __version__
from pipeline.build import build_conversation, stations
from pipeline.conversation import load_conversation
from pipeline.errors import PrerequisiteError
from pipeline.privacy import go_private
from pipeline.provenance import package_versions
from pipeline.settings import Settings
from pipeline.speech.models import Models
from pipeline.station import Outcome, Station, Workspace
from pipeline.workers.journal import ENDS, Journal

__all__ = ["LOCK", "Run", "Worker", "set_environment", "versions"]

LOCK = "run.lock"
"""Held in the folder of a run while it lasts."""

_SHARE = "every machine needs the project folder at the same path, on one file system (docs/how-to/workers.md)"


@dataclass(frozen=True)
class Run:
    """One call of `build_conversations` that uses workers."""

    project: Path
    """The project folder: relative paths of the settings, and of models that they name, start here."""
    folder: Path
    """Where its journal lies; as the settings name the data folder, so perhaps relative to ``project``."""
    settings: Settings
    environment: Mapping[str, str | None] = field(default_factory=dict)
    """What a worker sets in its environment before all else; None takes a variable away."""


def set_environment(values: Mapping[str, str | None]) -> None:
    """Set variables of this process; None takes one away."""
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def versions(line: Sequence[Station]) -> dict[str, str]:
    """Version of this project and of every package that changes a result."""
    names = {package for station in line for package in station.packages}
    return {"rescue-bench": __version__, **package_versions(names)}


class Worker:
    """What a Ray actor is made of. Making one is quick; models load when a station first needs them.

    Args:
        run: What it works for.
        name: Names it in the journal.
    """

    def __init__(self, run: Run, name: str) -> None:
        set_environment(run.environment)
        go_private()
        self._run = run
        self._name = name
        self._line: Sequence[Station] = ()

    def ready(self, expected: Mapping[str, str]) -> None:
        """Enter the project folder, and check that this machine can do the work.

        Args:
            expected: `versions` of the process that hands out the work.

        Raises:
            PrerequisiteError: If the folder is not the same one, its locks do not hold between processes, or a package
                that changes results has another version here.
        """
        self._enter()
        self._log()
        self._line = stations(Models(self._run.settings))
        mine = versions(self._line)
        other = [f"{name} {mine[name]} instead of {known}" for name, known in expected.items() if mine[name] != known]
        if other:
            msg = f"the worker on {platform.node()} has {', '.join(other)}"
            raise PrerequisiteError(msg, hint="install the same versions on every machine: make setup")

    def build(self, key: str, only: Collection[str] | None, *, force: bool) -> list[Outcome]:
        """Build one conversation; see `pipeline.build.build_conversation`.

        Args:
            key: Its key.
            only: Names of the stations to run; all if None.
            force: Run them even if they are current.
        """
        settings = self._run.settings
        raw = settings.raw / key
        workspace = Workspace.of(load_conversation(raw), raw, settings)
        journal = Journal(self._run.folder, self._name, platform.node(), os.getpid())
        outcomes = build_conversation(
            workspace, self._line, only=only, force=force, progress=lambda _, station: journal.write(key, station)
        )
        journal.write(key, ENDS, tuple(outcome.station for outcome in outcomes if outcome.ran))
        return outcomes

    def _log(self) -> None:
        log = logging.FileHandler(self._run.folder / f"{self._name}.log", encoding="utf-8", delay=True)
        log.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        log.setLevel(logging.WARNING)
        logging.getLogger().addHandler(log)

    def _enter(self) -> None:
        node = platform.node()
        try:
            os.chdir(self._run.project)
        except OSError as error:
            msg = f"the worker on {node} cannot enter the project folder: {error.strerror}"
            raise PrerequisiteError(msg, file=self._run.project, hint=_SHARE) from error
        lock = self._run.folder / LOCK
        if not lock.is_file():
            msg = f"the worker on {node} has a project folder at this path, but it is another one"
            raise PrerequisiteError(msg, file=self._run.project, hint=_SHARE)
        # Two workers never build one conversation because each holds its lock. A file system on which locks do not
        # reach from machine to machine would break that, so this one, held elsewhere, must not be free here.
        try:
            with FileLock(lock, timeout=0):
                pass
        except Timeout:
            return
        msg = f"locks on the data folder do not reach the worker on {node}"
        raise PrerequisiteError(msg, file=lock, hint="mount it with locks shared, for example NFS 4 without `nolock`")
