"""Runs the steps on the connection that `pipeline.review.database` holds, in its transaction."""

from alembic import context

from pipeline.review.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
context.run_migrations()
