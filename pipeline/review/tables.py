"""The tables of the store. What stands in `migrations` makes them; a test compares the two."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = [
    "assignments",
    "attempts",
    "audit",
    "batches",
    "changes",
    "exports",
    "metadata",
    "moment",
    "raters",
    "rating_items",
    "ratings",
    "row_changes",
    "rows",
    "sessions",
    "users",
]

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up only in a column of this type
_Moment = String(32)


def moment(when: datetime | None = None) -> str:
    """A moment as every table holds it: ISO 8601 in UTC to the microsecond, so that text order is the order of time."""
    return (when or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


users = Table(
    "users",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("name", String(40), nullable=False),
    Column("folded", String(40), nullable=False, unique=True),  # names differ by more than case
    Column("role", String(20), nullable=False),
    Column("password_hash", Text, nullable=False),
    Column("must_change_password", Boolean, nullable=False),
    Column("password_ends_at", _Moment),  # of a one-time password
    Column("disabled", Boolean, nullable=False),
    Column("created_at", _Moment, nullable=False),
    Column("last_seen_at", _Moment),
)

sessions = Table(
    "sessions",
    metadata,
    Column("digest", String(64), primary_key=True),  # of the token; the token itself is only in the cookie
    Column("user_id", _Number, ForeignKey("users.id"), nullable=False, index=True),
    Column("created_at", _Moment, nullable=False),
    Column("seen_at", _Moment, nullable=False),
)

attempts = Table(
    "attempts",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("name", String(40), nullable=False),
    Column("address", String(64), nullable=False),
    Column("at", _Moment, nullable=False, index=True),
)

assignments = Table(
    "assignments",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("conversation_id", Text, nullable=False, index=True),
    Column("user_id", _Number, ForeignKey("users.id"), nullable=False, index=True),
    Column("task", String(20), nullable=False),
    Column("source", String(20), nullable=False),
    Column("seeded", Boolean, nullable=False),
    Column("seed_digest", String(64)),  # of the versions that an adjudication was made of
    Column("done", Boolean, nullable=False),
    Column("withdrawn", Boolean, nullable=False),
    Column("version", Integer, nullable=False),  # counts changes
    Column("assigned_at", _Moment, nullable=False),
    Column("changed_at", _Moment, nullable=False),
    UniqueConstraint("conversation_id", "user_id", "task"),
)

rows = Table(
    "rows",
    metadata,
    Column("assignment_id", String(36), ForeignKey("assignments.id"), primary_key=True),
    Column("row_id", String(36), primary_key=True),
    Column("version", Integer, nullable=False),  # counts changes of this row
    Column("sequence", Integer, nullable=False),  # order of coming in, for rows that start together
    Column("fields", JSON, nullable=False),
    Column("status", String(20), nullable=False),
    Column("discarded", Boolean, nullable=False),
    Column("discard_reason", Text),
    Column("machine", JSON),  # what recognition said when the row was made
    Column("origin", JSON, nullable=False),  # what the row was made from
    Column("open", JSON, nullable=False),  # what the rule of adjudication left open
)

changes = Table(
    "changes",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("assignment_id", String(36), ForeignKey("assignments.id"), nullable=False),
    Column("layer_version", Integer, nullable=False),
    Column("change_id", String(36), nullable=False),
    Column("digest", String(64), nullable=False),  # of the edits: tells a repeat from another change
    Column("user_id", _Number, ForeignKey("users.id"), nullable=False),
    Column("at", _Moment, nullable=False),
    UniqueConstraint("assignment_id", "change_id"),
    UniqueConstraint("assignment_id", "layer_version"),
)

row_changes = Table(
    "row_changes",
    metadata,
    Column("assignment_id", String(36), primary_key=True),
    Column("row_id", String(36), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("change", _Number, ForeignKey("changes.id"), nullable=False, index=True),
    Column("op", String(20), nullable=False),
    Column("delta", JSON, nullable=False),  # [{"field", "from", "to"}]
    Column("state", JSON, nullable=False),  # the row after it
)

exports = Table(
    "exports",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("conversation_id", Text, nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("at", _Moment, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("at", _Moment, nullable=False),
    Column("user_id", _Number),
    Column("user", String(40)),
    Column("action", String(40), nullable=False),
    Column("conversation_id", Text),
    Column("detail", Text),
)

batches = Table(
    "batches",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("title", Text, nullable=False),
    Column("seed", Integer, nullable=False),
    Column("created_at", _Moment, nullable=False),
)

rating_items = Table(
    "rating_items",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("batch_id", String(36), ForeignKey("batches.id"), nullable=False, index=True),
    Column("run", Text, nullable=False),
    Column("task", String(10), nullable=False),
    Column("instance_id", Text, nullable=False),
    Column("conversation_id", Text, nullable=False),
    Column("content", JSON, nullable=False),
    UniqueConstraint("batch_id", "run", "instance_id"),
)

raters = Table(
    "raters",
    metadata,
    Column("batch_id", String(36), ForeignKey("batches.id"), primary_key=True),
    Column("user_id", _Number, ForeignKey("users.id"), primary_key=True),
)

ratings = Table(  # nothing is overwritten: the newest of a person and an item counts
    "ratings",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("item_id", String(36), ForeignKey("rating_items.id"), nullable=False),
    Column("user_id", _Number, ForeignKey("users.id"), nullable=False),
    Column("value", JSON, nullable=False),
    Column("at", _Moment, nullable=False),
    Index(None, "user_id", "item_id"),
)
