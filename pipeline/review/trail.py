"""The audit log: who opened, changed or took out what. Nothing in it is ever changed."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, insert, select

from pipeline.review.accounts import User
from pipeline.review.database import Database
from pipeline.review.tables import audit, moment
from pipeline.store import Json

__all__ = ["at_the_command_line", "entries", "note", "note_visit"]

_VISIT = timedelta(minutes=10)
"""Within this time one entry stands for all requests of one kind."""


def note(
    connection: Connection,
    user: User | str | None,
    action: str,
    *,
    conversation: str | None = None,
    detail: str | None = None,
) -> None:
    """Add an entry. Details name things, never what somebody said or a secret.

    Args:
        connection: The store.
        user: Who did it; a text is somebody without an account here (`at_the_command_line`), None is nobody known.
        action: What was done.
        conversation: The conversation it was done to.
        detail: To whom, or how much.
    """
    connection.execute(
        insert(audit).values(
            at=moment(),
            user_id=user.id if isinstance(user, User) else None,
            user=user.name if isinstance(user, User) else user,
            action=action,
            conversation_id=conversation,
            detail=detail,
        )
    )


def at_the_command_line() -> str:
    """Who runs ``rescue review`` on this machine: no account of the page has a name like it."""
    try:
        import pwd  # noqa: PLC0415 - not on every system

        name = pwd.getpwuid(os.getuid()).pw_name  # not from the environment, where anybody can be anybody
    except (ImportError, KeyError):
        return "command line"
    return f"{name[:25]} (command line)"


def note_visit(database: Database, user: User, action: str, conversation: str) -> None:
    """Add an entry unless there is one of the last minutes: what a browser asks for in many requests is one visit.

    It goes by what is known, not by the form of the request, so that no form of asking leaves no entry.
    """
    since = moment(datetime.now(UTC) - _VISIT)
    lately = select(audit.c.id).where(
        audit.c.user_id == user.id,
        audit.c.action == action,
        audit.c.conversation_id == conversation,
        audit.c.at >= since,
    )
    with database.reading() as connection:
        if connection.execute(lately.limit(1)).first() is not None:
            return
    with database.writing() as connection:
        note(connection, user, action, conversation=conversation)


def entries(connection: Connection, *, limit: int, before: int | None) -> list[dict[str, Json]]:
    """The newest entries, or those before an id."""
    found = select(audit).order_by(audit.c.id.desc()).limit(limit)
    if before is not None:
        found = found.where(audit.c.id < before)
    return [
        {
            "id": row.id,
            "at": row.at,
            "user": row.user,
            "action": row.action,
            "conversation": row.conversation_id,
            "detail": row.detail,
        }
        for row in connection.execute(found)
    ]
