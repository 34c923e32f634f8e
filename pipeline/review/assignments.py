"""Who works on which conversation. Everything that shows a conversation asks here first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, func, insert, select, update

from pipeline.review.accounts import Role, User
from pipeline.review.entries import VERIFIED
from pipeline.review.errors import NotFound, Refused
from pipeline.review.tables import assignments, moment, raters, rating_items, rows, users
from pipeline.store import Json

__all__ = [
    "Assignment",
    "Source",
    "Task",
    "assign",
    "hold",
    "of_conversation",
    "of_user",
    "own",
    "progress_of",
    "waiting_for",
    "withdraw",
]


class Task(StrEnum):
    """What a person does with a conversation."""

    INDEPENDENT = "independent"
    """Annotates it alone, without seeing anybody's answer."""
    ADJUDICATE = "adjudicate"
    """Makes one annotation out of those of all annotators."""
    READ = "read"
    """Looks at the annotation as it stands."""


class Source(StrEnum):
    """What the first rows are made of."""

    AUTO = "auto"
    TURNS = "turns"
    ANNOTATION = "annotation"
    DRAFT = "draft"
    EMPTY = "empty"


_MAY = {
    Role.ANNOTATOR: {Task.INDEPENDENT, Task.READ},
    Role.ADJUDICATOR: {Task.INDEPENDENT, Task.ADJUDICATE, Task.READ},
    Role.READER: {Task.READ},
    Role.ADMINISTRATOR: set(Task),
}


@dataclass(frozen=True)
class Assignment:
    """One person's work on one conversation; it holds that person's layer of rows."""

    id: str
    conversation_id: str
    user_id: int
    user: str
    task: Task
    source: Source
    seeded: bool
    seed_digest: str | None
    done: bool
    version: int
    assigned_at: str
    changed_at: str


_SELECT = select(assignments, users.c.name.label("user_name")).join(users, users.c.id == assignments.c.user_id)


def _assignment(row: Any) -> Assignment:
    return Assignment(
        row.id, row.conversation_id, row.user_id, row.user_name, Task(row.task), Source(row.source), row.seeded,
        row.seed_digest, row.done, row.version, row.assigned_at, row.changed_at,
    )  # fmt: skip


def own(connection: Connection, user: User, assignment_id: str) -> Assignment:
    """An assignment of this person.

    Raises:
        NotFound: If there is none with this id, it is somebody else's, or it was withdrawn.
    """
    row = connection.execute(
        _SELECT.where(
            assignments.c.id == assignment_id,
            assignments.c.user_id == user.id,
            assignments.c.withdrawn.is_(False),
        )
    ).one_or_none()
    if row is None:
        raise NotFound
    return _assignment(row)


def hold(connection: Connection, assignment: Assignment) -> Assignment:
    """Keep others from changing the layer until the transaction ends; returns the assignment as it is now.

    Raises:
        NotFound: If it was withdrawn meanwhile.
    """
    held = _SELECT.where(assignments.c.id == assignment.id, assignments.c.withdrawn.is_(False))
    row = connection.execute(held.with_for_update(of=assignments)).one_or_none()
    if row is None:
        raise NotFound
    return _assignment(row)


def of_user(connection: Connection, user: User) -> list[Assignment]:
    """A person's assignments, by conversation."""
    found = _SELECT.where(assignments.c.user_id == user.id, assignments.c.withdrawn.is_(False))
    return [_assignment(row) for row in connection.execute(found.order_by(assignments.c.conversation_id))]


def of_conversation(connection: Connection, conversation_id: str | None = None) -> list[Assignment]:
    """The assignments of a conversation, or of all, in the order in which they were given."""
    found = _SELECT.where(assignments.c.withdrawn.is_(False))
    if conversation_id is not None:
        found = found.where(assignments.c.conversation_id == conversation_id)
    ordered = found.order_by(assignments.c.conversation_id, assignments.c.assigned_at, assignments.c.id)
    return [_assignment(row) for row in connection.execute(ordered)]


def waiting_for(connection: Connection, conversation_id: str) -> int:
    """How many annotators are not done."""
    others = of_conversation(connection, conversation_id)
    return sum(one.task is Task.INDEPENDENT and not one.done for one in others)


def assign(connection: Connection, conversation_id: str, user: User, task: Task, source: Source) -> Assignment:
    """Give a conversation to a person. Work that was withdrawn before is given back as it was.

    Raises:
        Refused: If the person's role does not allow the task, or the person has the conversation already: who annotates
            alone must not see the answers of others, as adjudicators and readers do.
    """
    if task not in _MAY[user.role]:
        hint = "give the person another role, or another task"
        raise Refused(422, "invalid", f"{user.role.value}s cannot have the task {task.value}", hint=hint, places=[])
    now = moment()
    # Two administrators at once: the person's row is held.
    connection.execute(select(users.c.id).where(users.c.id == user.id).with_for_update()).one()
    theirs = _SELECT.where(assignments.c.conversation_id == conversation_id, assignments.c.user_id == user.id)
    found = connection.execute(theirs).all()
    if any(not row.withdrawn for row in found):
        hint = "withdraw that assignment first"
        raise Refused(409, "exists", f"{user.name} has a task on this conversation already", hint=hint)
    rated = (
        select(rating_items.c.id)
        .join(raters, raters.c.batch_id == rating_items.c.batch_id)
        .where(raters.c.user_id == user.id, rating_items.c.conversation_id == conversation_id)
    )
    # Who rates answers on a conversation is shown its gold.
    seen = any(row.task != Task.INDEPENDENT.value for row in found) or connection.execute(rated).first() is not None
    if task is Task.INDEPENDENT and seen:
        hint = "give the conversation to somebody else"
        raise Refused(409, "exists", f"{user.name} may have seen the answers of others on it", hint=hint)
    before = next((row for row in found if row.task == task.value), None)
    if before is not None:
        values = {"withdrawn": False, "assigned_at": now}
        connection.execute(update(assignments).where(assignments.c.id == before.id).values(**values))
        return own(connection, user, before.id)
    made = str(uuid4())
    connection.execute(
        insert(assignments).values(
            id=made, conversation_id=conversation_id, user_id=user.id, task=task.value, source=source.value,
            seeded=False, done=False, withdrawn=False, version=0, assigned_at=now, changed_at=now,
        )
    )  # fmt: skip
    return own(connection, user, made)


def withdraw(connection: Connection, assignment_id: str, conversation_id: str) -> Assignment:
    """Take a conversation from a person. Rows and history stay.

    Raises:
        NotFound: If there is no such assignment.
    """
    found = next((one for one in of_conversation(connection, conversation_id) if one.id == assignment_id), None)
    if found is None:
        raise NotFound
    connection.execute(update(assignments).where(assignments.c.id == assignment_id).values(withdrawn=True))
    return found


def progress_of(connection: Connection, ids: list[str]) -> Mapping[str, dict[str, Json]]:
    """Assignment id to its counts: rows, those verified, those that are drafts, those discarded."""
    counted = (
        select(rows.c.assignment_id, rows.c.status, rows.c.discarded, func.count().label("number"))
        .where(rows.c.assignment_id.in_(ids))
        .group_by(rows.c.assignment_id, rows.c.status, rows.c.discarded)
    )
    found: dict[str, dict[str, Json]] = {
        one: {"rows": 0, "verified": 0, "draft": 0, "discarded": 0} for one in ids
    }  # fmt: skip
    for row in connection.execute(counted):
        counts = found[row.assignment_id]
        if row.discarded:
            counts["discarded"] += row.number
            continue
        counts["rows"] += row.number
        counts["verified" if row.status == VERIFIED else "draft"] += row.number
    return found
