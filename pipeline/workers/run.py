"""Builds many conversations: in this process, or on workers. Each ends on its own, well or not."""

from __future__ import annotations

import secrets
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock

from pipeline.build import DECODING_STATIONS, Progress, build_conversation, write_status
from pipeline.errors import RescueError
from pipeline.extras import load
from pipeline.settings import Settings
from pipeline.station import Outcome, State, Station, Workspace, status_of
from pipeline.workers.journal import ENDS, read_journal
from pipeline.workers.pool import Actor, Pool, open_pool
from pipeline.workers.worker import LOCK, Run, versions

__all__ = ["Built", "build_conversations"]

_DEATHS = 2
"""A station in which so many workers ended is given up: it would end every other one too."""
_START_SECONDS = 300


@dataclass(frozen=True)
class Built:
    """One conversation, and how its stations ended."""

    workspace: Workspace
    outcomes: Sequence[Outcome]


@dataclass
class _Job:
    workspace: Workspace
    only: tuple[str, ...]
    given_up: list[Outcome] = field(default_factory=list)
    deaths: Counter[str] = field(default_factory=Counter)
    """Station to workers that ended in it."""


def build_conversations(
    workspaces: Sequence[Workspace],
    line: Sequence[Station],
    settings: Settings,
    *,
    only: Collection[str] | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Iterator[Built]:
    """Run every station that is not current for each conversation.

    With ``settings.workers`` other than 1, what is not current goes to workers, which use the stations of
    `pipeline.build.stations`; what is current is found so here, and where nothing is left for them none is started.
    No conversation is built twice: a worker holds its lock, and whoever comes second finds it current. When a worker
    dies, others finish its conversation; a station in which two workers died is reported as failed.

    Args:
        workspaces: The conversations.
        line: All stations, in order.
        settings: Say where to work: ``workers``, ``device``, ``threads``.
        only: Names of the stations to run; all if None.
        force: Run them even if they are current.
        progress: Told before each station; with workers, of each station once its conversation is through.

    Yields:
        Each conversation once, as soon as it is through: in the given order without workers.

    Raises:
        PrerequisiteError: If Ray is missing or cannot be reached, or a worker does not see the same files.
        UsageError: If there is no room for a worker.
    """
    chosen = tuple(station.name for station in line if only is None or station.name in only)
    heavy = []
    if settings.workers != 1:
        heavy = [workspace for workspace in workspaces if force or not _current(workspace, line, chosen)]
    away = {workspace.conversation.key for workspace in heavy}
    here = [workspace for workspace in workspaces if workspace.conversation.key not in away]
    yield from _in_turn(here, line, chosen, force=force, progress=progress)
    if heavy:
        for built in _spread(heavy, line, settings, chosen, force=force):
            for outcome in built.outcomes if progress else ():
                assert progress
                progress(outcome.conversation_id, outcome.station)
            yield built


def _current(workspace: Workspace, line: Sequence[Station], chosen: Collection[str]) -> bool:
    """Whether the chosen stations are as they would be made now, as far as can be told without running them."""
    status = status_of(line, workspace)
    return all(
        status[name].state is State.DONE
        or (status[name].state is State.SKIPPED and not Outcome("", name, status[name], ran=False).waits)
        for name in chosen
    )


def _in_turn(
    workspaces: Sequence[Workspace],
    line: Sequence[Station],
    chosen: tuple[str, ...],
    *,
    force: bool,
    progress: Progress | None,
) -> Iterator[Built]:
    """One after the other; while models work on one conversation, the recording of the next is decoded."""
    decoding = tuple(name for name in chosen if name in DECODING_STATIONS)
    later = tuple(name for name in chosen if name not in DECODING_STATIONS)
    with ThreadPoolExecutor(1, "decoding") as pool:
        ahead = [pool.submit(build_conversation, one, line, only=decoding, force=force) for one in workspaces[:1]]
        for position, workspace in enumerate(workspaces):
            for name in decoding if progress else ():
                assert progress
                progress(workspace.conversation.id, name)
            decoded = ahead.pop().result()
            ahead = [
                pool.submit(build_conversation, following, line, only=decoding, force=force)
                for following in workspaces[position + 1 : position + 2]
            ]
            outcomes = build_conversation(workspace, line, only=later, force=force, progress=progress)
            yield Built(workspace, [*decoded, *outcomes])


def _spread(
    heavy: Sequence[Workspace],
    line: Sequence[Station],
    settings: Settings,
    chosen: tuple[str, ...],
    *,
    force: bool,
) -> Iterator[Built]:
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
    run = Run(Path.cwd(), settings.data / "workers" / name, settings)
    run.folder.mkdir(parents=True)
    with FileLock(run.folder / LOCK), open_pool(run, len(heavy)) as pool:
        yield from _Office(pool, line, force=force).work([_Job(workspace, chosen) for workspace in heavy])


class _Office:
    """Hands jobs to workers, one at a time each."""

    def __init__(self, pool: Pool, line: Sequence[Station], *, force: bool) -> None:
        self._ray = load("ray", "ray")
        self._pool = pool
        self._line = {station.name: station for station in line}
        self._versions = versions(line)
        self._force = force
        self._idle: list[Actor] = []
        self._starting: dict[object, Actor] = {}
        self._busy: dict[object, tuple[Actor, _Job]] = {}

    def work(self, jobs: Sequence[_Job]) -> Iterator[Built]:
        waiting = deque(jobs)
        for _ in range(self._pool.size):
            self._hire()
        while waiting or self._busy:
            while waiting and self._idle:
                self._hand(self._idle.pop(), waiting.popleft())
            reference = self._next()
            if reference in self._starting:
                self._welcome(reference)
                continue
            actor, job = self._busy.pop(reference)
            outcomes = self._outcomes(reference, job)
            if outcomes is None:
                # First of all, so that a recording that ends workers is known before the others are through.
                waiting.appendleft(job)
                self._hire()
                continue
            self._idle.append(actor)
            yield Built(job.workspace, self._in_order([*job.given_up, *outcomes]))

    def _hire(self) -> None:
        actor = self._pool.hire()
        self._starting[actor.ready.remote(self._versions)] = actor

    def _hand(self, actor: Actor, job: _Job) -> None:
        reference = actor.build.remote(job.workspace.conversation.key, job.only, force=self._force)
        self._busy[reference] = (actor, job)

    def _next(self) -> object:
        """The next answer of a worker."""
        seconds = None if self._busy else _START_SECONDS
        pending = [*self._busy, *self._starting]
        done = self._ray.wait(pending, num_returns=1, timeout=seconds)[0] if pending else []
        if not done:
            msg = "no worker could be started" if pending else "every worker ended before it could start"
            raise RescueError(msg, hint="`ray status` lists what the cluster has; --workers 1 does without Ray")
        found: object = done[0]
        return found

    def _welcome(self, reference: object) -> None:
        actor = self._starting.pop(reference)
        # One that dies before it has work is not replaced: the next would die of the same.
        with suppress(self._ray.exceptions.RayActorError):
            self._get(reference)
            self._idle.append(actor)

    def _outcomes(self, reference: object, job: _Job) -> Sequence[Outcome] | None:
        """How the job ended; None if its worker died, with the station noted or given up."""
        try:
            return self._get(reference)
        except self._ray.exceptions.RayActorError:
            self._note_death(job)
            return None

    def _get(self, reference: object) -> Sequence[Outcome]:
        try:
            found: Sequence[Outcome] = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            cause: object = error.cause
            raise (cause if isinstance(cause, Exception) else error) from None
        return found

    def _note_death(self, job: _Job) -> None:
        key = job.workspace.conversation.key
        begun = [entry.step for entry in read_journal(self._pool.run.folder) if entry.conversation == key]
        name = begun[-1] if begun and begun[-1] != ENDS else job.only[0]
        job.deaths[name] += 1
        if job.deaths[name] < _DEATHS:
            return
        error = RescueError(
            f"{_DEATHS} workers ended while they worked on this: killed, or out of memory",
            hint="give workers more memory, or use fewer; `rescue build --workers 1` shows what happens",
        )
        with job.workspace.locked():
            job.given_up.append(self._line[name].give_up(job.workspace, error))
            write_status(job.workspace, list(self._line.values()))
        job.only = tuple(other for other in job.only if other != name)

    def _in_order(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        order: Mapping[str, int] = {name: number for number, name in enumerate(self._line)}
        return sorted(outcomes, key=lambda outcome: order[outcome.station])
