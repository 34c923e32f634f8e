"""How a station is declared and run.

A station is a function from typed inputs to files, for one conversation. It says what it needs, what it makes and what
decides the result; the runner here does the rest: skip what is current, keep failure a value, write the record.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import ClassVar

from filelock import FileLock

from pipeline.conversation import Conversation
from pipeline.errors import RescueError, SkipStation
from pipeline.provenance import DigestCache, Provenance, package_versions
from pipeline.settings import Settings
from pipeline.store import Json, read_json, write_json

__all__ = ["Outcome", "Record", "State", "Station", "Workspace", "status_of"]

logger = logging.getLogger(__name__)

_WAITS = "waits for "


class State(StrEnum):
    """How a station ended for a conversation, or where it stands."""

    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"
    STALE = "stale"
    """Made once, but its inputs, parameters, models or packages have changed since, or a file is gone."""
    MISSING = "missing"
    """Never run."""


@dataclass(frozen=True)
class Workspace:
    """One conversation and the two folders that belong to it."""

    conversation: Conversation
    raw: Path
    """Its folder under ``raw_video``."""
    data: Path
    """Its folder under ``data/conversations``."""
    settings: Settings

    @classmethod
    def of(cls, conversation: Conversation, raw: Path, settings: Settings) -> Workspace:
        """The workspace of a conversation whose own folder is ``raw``."""
        return cls(conversation, raw, settings.conversations_dir / conversation.key, settings)

    def artifact(self, name: str) -> Path:
        """Path of a file made for this conversation, for example ``words.parquet``."""
        return self.data / name

    def source(self, name: str | None) -> Path | None:
        """Path of a file of the user's, as named in ``conversation.yaml``; None if none is named."""
        return self.raw / name if name else None

    def record(self, station: str) -> Path:
        """Path of the record of a station."""
        return self.data / "stations" / f"{station}.json"

    @contextmanager
    def locked(self) -> Iterator[DigestCache]:
        """Hold the conversation: two runs never work on one conversation at once. Gives its digest cache."""
        self.data.mkdir(parents=True, exist_ok=True)
        with FileLock(self.data / ".lock"):
            digests = DigestCache(self.data / ".digests.json")
            try:
                yield digests
            finally:
                digests.save()


@dataclass(frozen=True)
class Record:
    """What is stored of a station's last run: ``stations/<station>.json``."""

    state: State
    reason: str | None = None
    """Why it was skipped or failed."""
    hint: str | None = None
    error: str | None = None
    """Class of the error."""
    fingerprint: str | None = None
    provenance: Mapping[str, Json] | None = None
    outputs: Mapping[str, str] | None = None
    """File to SHA-256."""
    summary: Mapping[str, Json] | None = None
    """Figures for people: durations, counts, flags."""

    def to_json(self) -> dict[str, Json]:
        """The JSON form; what is None is left out."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @classmethod
    def read(cls, path: Path) -> Record:
        """The stored record; state ``missing`` if there is none or it cannot be read."""
        try:
            value = read_json(path)
            return cls(**{**value, "state": State(value["state"])})
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return cls(State.MISSING)


@dataclass(frozen=True)
class Outcome:
    """How one station ended for one conversation in this run."""

    conversation_id: str
    station: str
    record: Record
    ran: bool
    """False if the artifacts were current and nothing was done."""
    seconds: float = 0.0

    @property
    def state(self) -> State:
        """Done, skipped or failed."""
        return self.record.state

    @property
    def waits(self) -> bool:
        """Whether it was skipped because a station before it failed or was not run."""
        return self.record.state is State.SKIPPED and (self.record.reason or "").startswith(_WAITS)


class Station(ABC):
    """A step of the pipeline for one conversation.

    Subclasses state the class variables; a wrong declaration is refused when the class is defined.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    """Raise it when the same inputs give another result."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Stations that must be done first."""
    uses: ClassVar[tuple[str, ...]] = ()
    """Stations whose result is used if they are done; if not, this one works without."""
    outputs: ClassVar[tuple[str, ...]]
    """Files it makes in the conversation's data folder. A folder of many files is represented by its index file."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Distributions whose version changes the result."""
    summary_doc: ClassVar[str] = ""
    """What the station does, for someone who is not an engineer."""

    def __init_subclass__(cls) -> None:
        for attribute in ("name", "version", "outputs"):
            if not hasattr(cls, attribute):
                msg = f"station {cls.__name__} must state `{attribute}` as a class variable"
                raise TypeError(msg)

    @abstractmethod
    def inputs(self, workspace: Workspace) -> Mapping[str, Path]:
        """Input name to file. Files that do not exist are left out of the provenance and must not be needed."""

    def parameters(self, workspace: Workspace) -> Mapping[str, Json]:
        """Everything but inputs, models and packages that decides the result."""
        del workspace
        return {}

    def models(self, workspace: Workspace) -> Mapping[str, str]:
        """Model role to name or digest of its weights."""
        del workspace
        return {}

    @abstractmethod
    def run(self, workspace: Workspace) -> Mapping[str, Json]:
        """Make the outputs and return figures for people.

        Raises:
            SkipStation: If there is nothing to do for this conversation.
            RescueError: If it cannot be done; the message says why.
        """

    def provenance(self, workspace: Workspace, digests: DigestCache) -> Provenance:
        """What would make the outputs now."""
        return Provenance(
            station=self.name,
            version=self.version,
            inputs={
                name: digests.digest(path) for name, path in sorted(self.inputs(workspace).items()) if path.is_file()
            },
            parameters=self.parameters(workspace),
            models=self.models(workspace),
            packages=package_versions(self.packages),
        )

    def is_current(self, workspace: Workspace, record: Record, digests: DigestCache) -> bool:
        """Whether the stored result is what would be made now, and every output is there, unchanged."""
        if record.state not in (State.DONE, State.SKIPPED):
            return False
        for name, digest in (record.outputs or {}).items():
            path = workspace.artifact(name)
            if not path.is_file() or digests.digest(path) != digest:
                return False
        return record.fingerprint == self.provenance(workspace, digests).fingerprint

    def process(self, workspace: Workspace, digests: DigestCache, *, force: bool = False) -> Outcome:
        """Run the station unless it is current. Never raises for a bad conversation: failure is a value.

        Outputs of a failed or skipped run are removed, so that nothing looks finished that is not.
        """
        conversation_id = workspace.conversation.id
        started = perf_counter()
        previous = Record.read(workspace.record(self.name))
        try:
            self._check_needs(workspace)
            if not force and self.is_current(workspace, previous, digests):
                return Outcome(conversation_id, self.name, previous, ran=False)
            provenance = self.provenance(workspace, digests)
        except SkipStation as skip:
            record = Record(State.SKIPPED, reason=skip.message, hint=skip.hint)
            return self._finish(workspace, record, previous, started)
        except (OSError, RescueError) as error:  # an input that cannot even be looked at
            record = Record(State.FAILED, reason=str(error), error=type(error).__name__)
            return self._finish(workspace, record, previous, started)
        record = self._attempt(workspace, digests, provenance)
        return self._finish(workspace, record, previous, started)

    def give_up(self, workspace: Workspace, error: RescueError) -> Outcome:
        """Record that it failed, where the process that ran it cannot say so any more. The caller holds the lock."""
        record = Record(State.FAILED, reason=_reason(error), hint=error.hint, error=type(error).__name__)
        return self._finish(workspace, record, Record.read(workspace.record(self.name)), perf_counter())

    def _check_needs(self, workspace: Workspace) -> None:
        for need in self.needs:
            upstream = Record.read(workspace.record(need))
            if upstream.state is State.FAILED:
                msg = f"{_WAITS}{need}, which failed"
                raise SkipStation(msg)
            if upstream.state is State.SKIPPED:
                msg = upstream.reason or f"{need} was skipped"
                raise SkipStation(msg)
            if upstream.state is State.MISSING:
                msg = f"{_WAITS}{need}, which was not run"
                raise SkipStation(msg)

    def _attempt(self, workspace: Workspace, digests: DigestCache, provenance: Provenance) -> Record:
        def ended(state: State, **found: Json) -> Record:
            return Record(state, fingerprint=provenance.fingerprint, provenance=provenance.to_json(), **found)

        try:
            summary = self.run(workspace)
            outputs = {name: digests.digest(workspace.artifact(name)) for name in self.outputs}
        except SkipStation as skip:
            return ended(State.SKIPPED, reason=skip.message, hint=skip.hint)
        except RescueError as error:
            return ended(State.FAILED, reason=_reason(error), hint=error.hint, error=type(error).__name__)
        except Exception as error:
            logger.exception("station %s broke on conversation %s", self.name, workspace.conversation.id)
            reason = f"unexpected {type(error).__name__}: {error}"
            hint = "this is a fault of the tool: please report it with the log"
            return ended(State.FAILED, reason=reason, hint=hint, error=type(error).__name__)
        return ended(State.DONE, outputs=outputs, summary=dict(summary))

    def _finish(self, workspace: Workspace, record: Record, previous: Record, started: float) -> Outcome:
        if record.state is not State.DONE:
            for name in self.outputs:
                workspace.artifact(name).unlink(missing_ok=True)
        write_json(workspace.record(self.name), record.to_json())
        ran = record.fingerprint is not None or record != previous
        return Outcome(workspace.conversation.id, self.name, record, ran=ran, seconds=perf_counter() - started)


def status_of(stations: Sequence[Station], workspace: Workspace) -> dict[str, Record]:
    """Where each station stands now: its stored record, or the same marked stale.

    A station is stale when its own inputs changed or a station before it is stale, failed or missing after it was done.
    """
    status: dict[str, Record] = {}
    digests = DigestCache(workspace.data / ".digests.json")
    for station in stations:
        record = Record.read(workspace.record(station.name))
        if record.state in (State.DONE, State.SKIPPED):
            behind = [need for need in (*station.needs, *station.uses) if status[need].state is State.STALE]
            if behind:
                record = Record(State.STALE, reason=f"{behind[0]} is stale")
            elif record.fingerprint is not None and not station.is_current(workspace, record, digests):
                record = Record(State.STALE, reason="inputs, parameters, models or packages changed, or a file is gone")
        status[station.name] = record
    return status


def _reason(error: RescueError) -> str:
    return ", ".join(part for part in (error.file, error.place) if part) + (
        f": {error.message}" if error.file or error.place else error.message
    )
