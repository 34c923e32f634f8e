"""What was built outside Dagster, as with ``rescue build``, as events: the pages then show what is on the disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import dagster as dg

from assets.conversations import AssetEvent, event_of
from assets.resources import Project
from pipeline.station import Outcome, Record, State, Workspace

__all__ = ["News", "news"]

_MOST = 200
"""Events at a time; the rest come with the next look. Pictures take a twentieth of a second each."""


@dataclass(frozen=True)
class News:
    """What happened since the last look, oldest first, and up to when this look has come."""

    events: tuple[AssetEvent, ...]
    until: int
    """Nanoseconds, as of the records' files."""


def news(project: Project, instance: dg.DagsterInstance, since: int) -> News:
    """The records that are newer than ``since`` and of which Dagster does not know yet.

    Args:
        project: The conversations.
        instance: With what Dagster knows.
        since: Nanoseconds; that of the last `News`, at first 0.
    """
    workspaces = {workspace.conversation.id: workspace for workspace in project.found().workspaces}
    newer = sorted(
        (changed, name, station.name)
        for name, workspace in workspaces.items()
        for station in project.line
        if (changed := _changed(workspace, station.name)) > since
    )
    events: list[AssetEvent] = []
    for changed, name, station in newer:
        if len(events) == _MOST:
            break
        event = _event(Record.read(workspaces[name].record(station)), station, workspaces[name])
        if event is not None and not _known(instance, event):
            events.append(event)
        since = changed
    return News(tuple(events), since)


def _changed(workspace: Workspace, station: str) -> int:
    path = workspace.record(station)
    return path.stat().st_mtime_ns if path.exists() else 0


def _event(record: Record, station: str, workspace: Workspace) -> AssetEvent | None:
    if record.state in (State.MISSING, State.STALE):
        return None
    return event_of(Outcome(workspace.conversation.id, station, record, ran=False), workspace)


def _known(instance: dg.DagsterInstance, event: AssetEvent) -> bool:
    """Whether the last event of the same kind says the same."""
    wanted = dg.AssetRecordsFilter(asset_key=event.asset_key, asset_partitions=[str(event.partition)])
    made = isinstance(event, dg.AssetMaterialization)
    found = (instance.fetch_materializations if made else instance.fetch_observations)(wanted, limit=1).records
    if not found:
        return False
    last = found[0].asset_materialization if made else found[0].event_log_entry.asset_observation
    return last is not None and _said(last) == _said(event)


def _said(event: AssetEvent) -> tuple[str | None, str | None]:
    tags: Mapping[str, str] = event.tags or {}
    return tags.get("dagster/data_version"), None if isinstance(event, dg.AssetMaterialization) else event.description
