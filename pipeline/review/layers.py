"""A person's layer of rows in the store: read, filled for the first time, changed, with its whole history.

A layer has a version that counts its changes. What was read and checked at a version is kept in memory and is good for
as long as the store has that version, whichever process wrote it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, insert, select, update

from pipeline.conversation import Conversation
from pipeline.review.assignments import Assignment
from pipeline.review.entries import Entry, Findings, findings_of, live
from pipeline.review.errors import NotFound
from pipeline.review.tables import assignments, changes, moment, row_changes, rows, users
from pipeline.store import Json
from pipeline.times import Seconds

__all__ = [
    "Changed",
    "Layer",
    "Layers",
    "change_with_id",
    "differing",
    "entry_of",
    "history",
    "rows_since",
    "seed",
    "state_at",
    "versions_since",
    "write",
]


@dataclass(frozen=True)
class Layer:
    """The rows of a layer at one version, and what the rules say of them."""

    version: int
    entries: Mapping[str, Entry]
    findings: Findings

    @property
    def order(self) -> list[str]:
        """Ids of the rows that are not discarded, in order."""
        return [entry.row_id for entry in live(self.entries.values())]


@dataclass(frozen=True)
class Changed:
    """A row after one edit, and what the edit did."""

    entry: Entry
    op: str
    delta: Sequence[Mapping[str, Json]]


class Layers:
    """Layers, as they were last read."""

    _KEPT = 200

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[Layer, Conversation, Seconds | None]] = OrderedDict()
        self._lock = Lock()

    def read(
        self, connection: Connection, assignment: Assignment, conversation: Conversation, duration: Seconds | None
    ) -> Layer:
        """The layer of an assignment at the assignment's version.

        The transaction must see one state: it reads only, or it holds the assignment.
        """
        with self._lock:
            kept = self._kept.get(assignment.id)
        if kept and kept[0].version == assignment.version and kept[1:] == (conversation, duration):
            return kept[0]
        found = connection.execute(select(rows).where(rows.c.assignment_id == assignment.id))
        entries = {row.row_id: entry_of(row) for row in found}
        layer = Layer(assignment.version, entries, findings_of(conversation, list(entries.values()), duration))
        self.keep(assignment.id, layer, conversation, duration)
        return layer

    def keep(self, assignment_id: str, layer: Layer, conversation: Conversation, duration: Seconds | None) -> None:
        """Remember a layer. Only what is in the store, or will be with the transaction that holds it."""
        with self._lock:
            self._kept[assignment_id] = (layer, conversation, duration)
            self._kept.move_to_end(assignment_id)
            while len(self._kept) > self._KEPT:
                self._kept.popitem(last=False)

    def forget(self, assignment_id: str) -> None:
        """Read it anew next time."""
        with self._lock:
            self._kept.pop(assignment_id, None)


def entry_of(row: Any) -> Entry:
    """A row of the table as a value."""
    return Entry(
        row.row_id, row.version, row.sequence, row.fields, row.status, row.discarded, row.discard_reason, row.machine,
        row.origin, row.open,
    )  # fmt: skip


def _values(assignment: Assignment, entry: Entry) -> dict[str, Any]:
    return {
        "assignment_id": assignment.id,
        "row_id": entry.row_id,
        "version": entry.version,
        "sequence": entry.sequence,
        "fields": dict(entry.fields),
        "status": entry.status,
        "discarded": entry.discarded,
        "discard_reason": entry.discard_reason,
        "machine": entry.machine,
        "origin": dict(entry.origin),
        "open": list(entry.open),
    }


def seed(connection: Connection, assignment: Assignment, entries: Sequence[Entry], digest: str | None = None) -> None:
    """Fill a held layer that has no rows yet."""
    made = [Changed(entry, "seed", ()) for entry in entries]
    write(connection, assignment, assignment.user_id, str(uuid4()), "", made)
    values = {"seeded": True, "seed_digest": digest}
    connection.execute(update(assignments).where(assignments.c.id == assignment.id).values(**values))


def write(
    connection: Connection,
    assignment: Assignment,
    user_id: int,
    change_id: str,
    digest: str,
    changed: Sequence[Changed],
) -> int:
    """Add a change to a held layer; returns the layer's new version."""
    version = assignment.version + 1
    now = moment()
    number = connection.execute(
        insert(changes)
        .values(
            assignment_id=assignment.id, layer_version=version, change_id=change_id, digest=digest, user_id=user_id,
            at=now,
        )
        .returning(changes.c.id)
    ).scalar_one()  # fmt: skip
    for one in changed:
        values = _values(assignment, one.entry)
        if one.entry.version == 1:
            connection.execute(insert(rows).values(**values))
        else:
            which = (rows.c.assignment_id == assignment.id) & (rows.c.row_id == one.entry.row_id)
            connection.execute(update(rows).where(which).values(**values))
    if changed:
        connection.execute(
            insert(row_changes),
            [
                {
                    "assignment_id": assignment.id,
                    "row_id": one.entry.row_id,
                    "version": one.entry.version,
                    "change": number,
                    "op": one.op,
                    "delta": [dict(part) for part in one.delta],
                    "state": one.entry.state,
                }
                for one in changed
            ],
        )
    connection.execute(
        update(assignments).where(assignments.c.id == assignment.id).values(version=version, changed_at=now)
    )
    return version


_HISTORY = (
    select(row_changes, changes.c.layer_version, changes.c.at, users.c.name.label("by"))
    .join(changes, changes.c.id == row_changes.c.change)
    .join(users, users.c.id == changes.c.user_id)
)


def history(
    connection: Connection,
    assignment: Assignment,
    *,
    row_id: str | None = None,
    limit: int | None = None,
    before: int | None = None,
) -> list[dict[str, Json]]:
    """ENTRY by ENTRY of the interface, newest first: of a row, or of the whole layer."""
    found = _HISTORY.where(row_changes.c.assignment_id == assignment.id)
    if row_id is not None:
        found = found.where(row_changes.c.row_id == row_id)
    if before is not None:
        found = found.where(changes.c.layer_version < before)
    ordered = found.order_by(changes.c.layer_version.desc(), row_changes.c.row_id, row_changes.c.version.desc())
    return [
        {
            "row_id": row.row_id,
            "version": row.version,
            "layer_version": row.layer_version,
            "op": row.op,
            "by": row.by,
            "at": row.at,
            "changes": row.delta,
        }
        for row in connection.execute(ordered.limit(limit))
    ]


def state_at(connection: Connection, assignment: Assignment, entry: Entry, version: int) -> Entry:
    """A row as it was at one of its versions.

    Raises:
        NotFound: If it has no such version.
    """
    state = connection.scalar(
        select(row_changes.c.state).where(
            row_changes.c.assignment_id == assignment.id,
            row_changes.c.row_id == entry.row_id,
            row_changes.c.version == version,
        )
    )
    if state is None:
        raise NotFound
    return Entry(
        entry.row_id, version, entry.sequence, state["fields"], state["status"], state["discarded"],
        state["discard_reason"], state["machine"], entry.origin,
    )  # fmt: skip


def versions_since(connection: Connection, assignment: Assignment, row_id: str, version: int) -> list[Any]:
    """The changes of a row after a version, oldest first: each with ``delta``, ``by``, ``at``."""
    found = _HISTORY.where(
        row_changes.c.assignment_id == assignment.id,
        row_changes.c.row_id == row_id,
        row_changes.c.version > version,
    )
    return list(connection.execute(found.order_by(row_changes.c.version)))


def change_with_id(connection: Connection, assignment: Assignment, change_id: str) -> tuple[str, list[str]] | None:
    """The digest of a change that is there already, and the rows it changed; None if it is new."""
    found = connection.execute(
        select(changes.c.id, changes.c.digest).where(
            changes.c.assignment_id == assignment.id, changes.c.change_id == change_id
        )
    ).one_or_none()
    if found is None:
        return None
    touched = connection.scalars(select(row_changes.c.row_id).where(row_changes.c.change == found.id))
    return found.digest, list(touched)


def rows_since(connection: Connection, assignment: Assignment, version: int) -> list[str]:
    """Ids of the rows that changed after a version of the layer."""
    found = (
        select(row_changes.c.row_id)
        .join(changes, changes.c.id == row_changes.c.change)
        .where(changes.c.assignment_id == assignment.id, changes.c.layer_version > version)
    )
    return list(dict.fromkeys(connection.scalars(found)))


def differing(before: Findings, after: Findings, ids: Iterable[str]) -> Findings:
    """Row id to what the rules say now, for those of which they said something else before."""
    return {one: after.get(one, []) for one in ("", *ids) if before.get(one, []) != after.get(one, [])}
