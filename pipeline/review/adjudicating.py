"""One annotation out of those of all annotators: the rule makes the first rows, a person decides what is left open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, select

from pipeline.annotation.adjudicate import AUTHOR, Open, adjudicate
from pipeline.annotation.agreement import agreement, values_of, window_diff
from pipeline.annotation.io import Loaded
from pipeline.annotation.model import Origin, Row, Status
from pipeline.annotation.versions import Unit, Version, read_versions, unite, version_files
from pipeline.errors import PrerequisiteError
from pipeline.links import check_link
from pipeline.review.assignments import Assignment, Task, of_conversation
from pipeline.review.entries import (
    EVIDENCE,
    FIELDS,
    VERIFIED,
    Entry,
    annotation_of_layer,
    entries_of,
    findings_of,
    has_errors,
)
from pipeline.review.errors import Refused
from pipeline.review.layers import entry_of
from pipeline.review.recognition import heard
from pipeline.review.tables import rows
from pipeline.station import Workspace
from pipeline.store import Json, digest_json
from pipeline.times import Seconds

__all__ = ["adjudicated_rows", "layer_entries", "versions_json"]

_SHOWN = ("start_time", "end_time", "primary_speaker", "dialogue_cleaned")


def layer_entries(connection: Connection, assignment: Assignment) -> list[Entry]:
    """The rows of a layer, as they are in the store."""
    return [entry_of(row) for row in connection.execute(select(rows).where(rows.c.assignment_id == assignment.id))]


def _versions(connection: Connection, workspace: Workspace) -> list[Version]:
    """Everybody's annotation: of the annotators here, in the order in which they were assigned, then of files.

    Raises:
        Refused: If annotators are still at work, or there are fewer than two versions.
    """
    theirs = [
        one for one in of_conversation(connection, workspace.conversation.id) if one.task is Task.INDEPENDENT
    ]  # fmt: skip
    waiting = sum(not one.done for one in theirs)
    if waiting:
        hint = "come back when they are done"
        raise Refused(409, "not_ready", f"{waiting} annotators are still at work", hint=hint, waiting=waiting)
    found = []
    for one in theirs:
        origin = Origin.model_validate({"author": one.user, "time": one.changed_at, "status": Status.REVIEWED})
        annotation = annotation_of_layer(workspace.conversation, layer_entries(connection, one), origin)
        found.append(Version(origin, Path(f"{one.user}.json"), Loaded(annotation, ())))
    here = {one.user for one in theirs}
    check_link(workspace, *version_files(workspace.raw))
    found += [
        version
        for version in read_versions(workspace.raw, workspace.conversation)
        if version.origin.status is not Status.DRAFT and version.origin.author not in {*here, AUTHOR}
    ]
    if len(found) < 2:
        hint = "assign at least two annotators"
        raise Refused(409, "not_ready", f"there are {len(found)} annotations to compare", hint=hint, waiting=0)
    return found


def _digest(versions: Sequence[Version]) -> str:
    return digest_json(
        [
            [one.origin.author, [row.model_dump(mode="json") for row in one.annotation.rows]] for one in versions
        ]
    )  # fmt: skip


def adjudicated_rows(connection: Connection, workspace: Workspace, duration: Seconds | None) -> tuple[list[Entry], str]:
    """The rows by the rule, and the digest of what they were made of. A row with nothing open counts as verified.

    Raises:
        Refused: If annotators are still at work.
    """
    versions = _versions(connection, workspace)
    result = adjudicate(versions)
    kept = [unit for unit in result.units if 2 * len(unit) > len(versions)]
    ids = [str(uuid4()) for _ in result.annotation.rows]
    recognition = heard(workspace)
    made = []
    for entry, row, unit in zip(entries_of(result.annotation.rows, ids), result.annotation.rows, kept, strict=True):
        left = [_open(one, ids) for one in result.open if one.row == row.row_index]
        made.append(
            replace(
                entry,
                open=left,
                origin={"from": "adjudication", "rows": {author: one.row_index for author, one in unit.items()}},
                machine=recognition.within(row.start_time, row.end_time) if recognition else None,
            )
        )
    findings = findings_of(workspace.conversation, made, duration)
    decided = [
        entry if entry.open or has_errors(findings, entry.row_id) else replace(entry, status=VERIFIED)
        for entry in made
    ]  # fmt: skip
    return decided, _digest(versions)


def _open(one: Open, ids: Sequence[str]) -> dict[str, Json]:
    given = dict(one.given)
    if one.field in EVIDENCE:
        given = {author: [ids[index - 1] for index in value] if value else value for author, value in given.items()}
    return {"field": one.field, "given": given}


def versions_json(connection: Connection, workspace: Workspace, assignment: Assignment) -> dict[str, Json]:
    """What the adjudication view shows: stretch by stretch what everybody said, only where it differs.

    Raises:
        Refused: If annotators are still at work.
    """
    versions = _versions(connection, workspace)
    units = unite([(one.origin.author, one.annotation) for one in versions])
    result = {
        (author, index): entry.row_id
        for entry in layer_entries(connection, assignment)
        if not entry.discarded
        for author, index in (entry.origin.get("rows") or {}).items()
    }
    try:
        fields: list[dict[str, Json]] | None = [one.to_json() for one in agreement(values_of(units))]
        borders = window_diff([one.annotation for one in versions])
    except PrerequisiteError:
        fields, borders = None, None
    return {
        "authors": [one.origin.author for one in versions],
        "versions_changed": assignment.seed_digest != _digest(versions),
        "units": [_unit(unit, len(versions), result) for unit in units],
        "agreement": fields,
        "window_diff": borders,
    }


def _unit(unit: Unit, authors: int, result: Mapping[tuple[str, int], str]) -> dict[str, Json]:
    values: dict[str, dict[str, Any]] = {
        author: row.model_dump(mode="json", exclude={"row_index"}) for author, row in unit.items()
    }
    differing = [name for name in FIELDS if len({digest_json(given[name]) for given in values.values()}) > 1]
    shown = [name for name in FIELDS if name in differing or name in _SHOWN]
    first: Row = next(iter(unit.values()))
    return {
        "row_id": next(
            (result[key] for author, row in unit.items() if (key := (author, row.row_index)) in result), None
        ),
        "start_time": first.start_time,
        "end_time": first.end_time,
        "versions": {author: {name: given[name] for name in shown} for author, given in values.items()},
        "differing": differing,
        "missing": authors - len(unit),
    }
