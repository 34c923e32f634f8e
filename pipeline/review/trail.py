"""The audit log: who opened, changed or took out what. Nothing in it is ever changed."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select

from pipeline.review.accounts import User
from pipeline.review.tables import audit, moment
from pipeline.store import Json

__all__ = ["entries", "note"]


def note(
    connection: Connection,
    user: User | None,
    action: str,
    *,
    conversation: str | None = None,
    detail: str | None = None,
) -> None:
    """Add an entry. Details name things, never what somebody said or a secret."""
    connection.execute(
        insert(audit).values(
            at=moment(),
            user_id=user.id if user else None,
            user=user.name if user else None,
            action=action,
            conversation_id=conversation,
            detail=detail,
        )
    )


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
