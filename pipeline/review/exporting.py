"""The way out: rows of people become annotation files in the conversation's folder.

Everybody's layer is one file under ``annotations/``; it counts as reviewed once every row is verified. The adjudicated
layer, or the only one there is, becomes the conversation's annotation. A file that was not written from here, or was
edited since, is replaced only on request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, delete, insert, select

from pipeline.annotation.adjudicate import AUTHOR
from pipeline.annotation.io import save_annotation
from pipeline.annotation.model import Origin, Status
from pipeline.annotation.versions import FOLDER
from pipeline.conversation import save_conversation
from pipeline.links import check_link
from pipeline.review import trail
from pipeline.review.accounts import User
from pipeline.review.adjudicating import layer_entries
from pipeline.review.assignments import Assignment, Task, of_conversation
from pipeline.review.database import Database
from pipeline.review.entries import VERIFIED, Entry, annotation_of_layer, live
from pipeline.review.layers import history
from pipeline.review.rights import make_private
from pipeline.review.tables import exports, moment
from pipeline.station import Workspace
from pipeline.store import Json, digest_file, write_json

__all__ = ["ANNOTATION_FILE", "PROVENANCE_FILE", "Exported", "export_conversation"]

ANNOTATION_FILE = "annotations.json"
PROVENANCE_FILE = "review.json"
"""Beside the artifacts of a conversation: who verified which row, when, and what it was made of."""


@dataclass
class Exported:
    """What was written, and what was not and why."""

    files: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    withheld: bool = False
    """Whether a file was not written that would have been."""


def export_conversation(database: Database, workspace: Workspace, *, by: User | str, replace: bool = False) -> Exported:
    """Write the annotation files of a conversation.

    Args:
        database: The store.
        workspace: The conversation.
        by: Who asks, for the audit log.
        replace: Replace files that were not written from here, or were edited since.

    Raises:
        InputError: If an annotation cannot be written.
    """
    done = Exported()
    with database.writing() as connection:
        layers = [
            (one, layer_entries(connection, one))
            for one in of_conversation(connection, workspace.conversation.id)
            if one.seeded
        ]
        for one, entries in layers:
            if one.task is Task.INDEPENDENT:
                status = Status.REVIEWED if _complete(entries) else Status.DRAFT
                _write(connection, workspace, f"{FOLDER}/{one.user}.json", one, entries, status, done, replace=replace)
        _write_annotation(connection, workspace, layers, done, replace=replace)
        _write_provenance(connection, workspace, layers)
        detail = ", ".join(done.files) or "nothing"
        trail.note(connection, by, "export", conversation=workspace.conversation.id, detail=detail)
    return done


def _complete(entries: Sequence[Entry]) -> bool:
    rows = live(entries)
    return bool(rows) and all(entry.status == VERIFIED for entry in rows)


def _write_annotation(
    connection: Connection,
    workspace: Workspace,
    layers: Sequence[tuple[Assignment, Sequence[Entry]]],
    done: Exported,
    *,
    replace: bool,
) -> None:
    adjudicated = [(one, entries) for one, entries in layers if one.task is Task.ADJUDICATE and one.done]
    alone = [(one, entries) for one, entries in layers if one.task is Task.INDEPENDENT]
    if adjudicated:
        one, entries = max(adjudicated, key=lambda pair: pair[0].changed_at)
        status = Status.ADJUDICATED
    elif len(layers) == len(alone) == 1 and alone[0][0].done:
        one, entries = alone[0]
        status = Status.REVIEWED
    else:
        reason = "it is not adjudicated yet" if len(alone) > 1 else "nobody is done with it yet"
        done.notes.append(f"{ANNOTATION_FILE} was not written: {reason}")
        return
    named = workspace.conversation.annotations
    if named not in (None, ANNOTATION_FILE) and not replace:
        done.notes.append(f"{ANNOTATION_FILE} was not written: the conversation's annotation is {named}; use replace")
        done.withheld = True
        return
    if _write(connection, workspace, ANNOTATION_FILE, one, entries, status, done, replace=replace) and named is None:
        save_conversation(
            workspace.raw, workspace.conversation.model_copy(update={"annotations": ANNOTATION_FILE})
        )  # fmt: skip


def _write(
    connection: Connection,
    workspace: Workspace,
    name: str,
    one: Assignment,
    entries: Sequence[Entry],
    status: Status,
    done: Exported,
    *,
    replace: bool,
) -> bool:
    path = workspace.raw / name
    known = (exports.c.conversation_id == workspace.conversation.id) & (exports.c.name == name)
    if path.is_file() and not replace:
        written = connection.scalar(select(exports.c.digest).where(known))
        if written != digest_file(path):
            why = "it was edited since" if written else "it was not written from here"
            done.notes.append(f"{name} was left as it is: {why}; use replace")
            done.withheld = True
            return False
    author = AUTHOR if status is Status.ADJUDICATED else one.user
    origin = Origin.model_validate({"author": author, "time": one.changed_at, "status": status})
    check_link(workspace, path.parent)
    try:
        save_annotation(path, annotation_of_layer(workspace.conversation, entries, origin))
    except OSError as error:  # the others are written all the same, and what was written stands in the log
        done.notes.append(f"{name} was not written: {error.strerror}")
        done.withheld = True
        return False
    make_private(path)
    connection.execute(delete(exports).where(known))
    connection.execute(
        insert(exports).values(
            conversation_id=workspace.conversation.id, name=name, digest=digest_file(path), at=moment()
        )
    )  # fmt: skip
    done.files.append(name)
    left = sum(entry.status != VERIFIED for entry in live(entries))
    if left:
        done.notes.append(f"{name} is a draft: {left} of {len(live(entries))} rows are not verified")
    return True


def _write_provenance(
    connection: Connection, workspace: Workspace, layers: Sequence[tuple[Assignment, Sequence[Entry]]]
) -> None:
    content: list[Json] = []
    for one, entries in layers:
        verified: dict[str, dict[str, Json]] = {}
        for change in reversed(history(connection, one)):
            if any(part["field"] == "status" and part["to"] == VERIFIED for part in change["changes"]):
                verified[change["row_id"]] = {"by": change["by"], "at": change["at"]}
        content.append(
            {
                "author": one.user,
                "task": one.task.value,
                "done": one.done,
                "rows": [
                    {
                        "row_index": number,
                        "row_id": entry.row_id,
                        "version": entry.version,
                        "status": entry.status,
                        "verified": verified.get(entry.row_id) if entry.status == VERIFIED else None,
                        "origin": dict(entry.origin),
                    }
                    for number, entry in enumerate(live(entries), start=1)
                ],
                "discarded": [
                    {"row_id": entry.row_id, "reason": entry.discard_reason} for entry in entries if entry.discarded
                ],
            }
        )
    path = workspace.artifact(PROVENANCE_FILE)
    write_json(path, {"layers": content})
    make_private(path)
