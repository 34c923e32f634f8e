"""One-time passwords end."""

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Those that are out end a week from now."""
    with op.batch_alter_table("users", schema=None) as batch_op:
        batch_op.add_column(sa.Column("password_ends_at", sa.String(length=32), nullable=True))
    users = sa.table("users", sa.column("must_change_password", sa.Boolean), sa.column("password_ends_at", sa.String))
    ends = (datetime.now(UTC) + timedelta(days=7)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    op.execute(users.update().where(users.c.must_change_password.is_(True)).values(password_ends_at=ends))
