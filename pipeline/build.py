"""The main job: every station of every conversation that is not current, then the data set."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from pipeline.annotation.stations import AnnotationsStation
from pipeline.clips.stations import ClipsStation
from pipeline.conversation import closest, discover
from pipeline.errors import RescueError, UsageError
from pipeline.join.stations import RowsStation
from pipeline.media.stations import AudioStation, SourceStation
from pipeline.quality import QualityStation
from pipeline.settings import Settings
from pipeline.speech.models import Models
from pipeline.speech.stations import SpeakersStation, TurnsStation, WordsStation
from pipeline.station import Outcome, Record, State, Station, Workspace
from pipeline.store import write_json
from pipeline.vision.stations import CuesStation

__all__ = [
    "ANNOTATION_STATIONS",
    "DECODING_STATIONS",
    "Found",
    "Progress",
    "build_conversation",
    "find_workspaces",
    "select",
    "stations",
    "worst_state",
    "write_status",
]

ANNOTATION_STATIONS = ("annotations", "rows")
"""The stations that need no media and no model."""

DECODING_STATIONS = ("source", "audio")
"""The first stations: they read the recording and need no model."""

Progress = Callable[[str, str], None]
"""Called with conversation id and station name before a station starts."""


def stations(models: Models) -> tuple[Station, ...]:
    """The stations in order; those that use models share the given ones."""
    return (
        SourceStation(),
        AudioStation(),
        WordsStation(models),
        SpeakersStation(models),
        TurnsStation(),
        QualityStation(),
        AnnotationsStation(),
        RowsStation(),
        CuesStation(),
        ClipsStation(),
    )


@dataclass(frozen=True)
class Found:
    """The conversations to work on, and the folders that could not be read."""

    workspaces: tuple[Workspace, ...]
    problems: tuple[RescueError, ...]


def find_workspaces(settings: Settings) -> Found:
    """All conversations under the raw folder.

    Raises:
        UsageError: If the raw folder does not exist.
    """
    if not settings.raw.is_dir():
        msg = f"there is no folder {settings.raw.name!r} here"
        raise UsageError(msg, hint="run the command in the project folder, or name the folder with RESCUE_RAW")
    discovery = discover(settings.raw)
    workspaces = tuple(Workspace.of(conversation, raw, settings) for conversation, raw in discovery.conversations)
    return Found(workspaces, discovery.problems)


def select(workspaces: Sequence[Workspace], wanted: Iterable[str]) -> tuple[Workspace, ...]:
    """Those with a wanted id or key, or all if none is named.

    Raises:
        UsageError: If a name fits no conversation; the hint holds the closest one.
    """
    by_name = {workspace.conversation.id: workspace for workspace in workspaces}
    by_key = {workspace.conversation.key: workspace for workspace in workspaces}
    names = list(wanted)
    if not names:
        return tuple(workspaces)
    chosen: dict[str, Workspace] = {}
    for name in names:
        workspace = by_name.get(name) or by_key.get(name)
        if workspace is None:
            near = closest(name, by_name)
            hint = f"did you mean {near!r}?" if near else "`rescue status` lists them"
            msg = f"there is no conversation {name!r}"
            raise UsageError(msg, hint=hint)
        chosen[workspace.conversation.id] = workspace
    return tuple(chosen.values())


def build_conversation(
    workspace: Workspace,
    line: Sequence[Station],
    *,
    only: Collection[str] | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Run every station that is not current for one conversation, and write its ``status.json``.

    Args:
        workspace: The conversation.
        line: All stations, in order.
        only: Names of the stations to run; all if None.
        force: Run them even if they are current.
        progress: Told before each station.
    """
    outcomes = []
    with workspace.locked() as digests:
        for station in line:
            if only is not None and station.name not in only:
                continue
            if progress:
                progress(workspace.conversation.id, station.name)
            outcomes.append(station.process(workspace, digests, force=force))
        write_status(workspace, line)
    return outcomes


def write_status(workspace: Workspace, line: Sequence[Station]) -> None:
    """Write ``status.json`` from the stored records: state, reason, hint and figures, for people and other programs."""
    records = {station.name: Record.read(workspace.record(station.name)) for station in line}
    content = {
        "conversation_id": workspace.conversation.id,
        "key": workspace.conversation.key,
        "stations": {
            name: {
                field: value
                for field, value in record.to_json().items()
                if field in ("state", "reason", "hint", "error", "summary")
            }
            for name, record in records.items()
        },
    }
    write_json(workspace.artifact("status.json"), content)


def worst_state(records: Iterable[Record]) -> State:
    """One word for a conversation: failed, stale, missing, or done."""
    states = {record.state for record in records}
    for state in (State.FAILED, State.MISSING, State.STALE):
        if state in states:
            return state
    return State.DONE
