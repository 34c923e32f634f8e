"""The database: SQLite in the data folder, or PostgreSQL by one setting; opened, brought up to date, and used."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from pipeline.errors import PrerequisiteError, UsageError
from pipeline.review.rights import open_private, private_tree
from pipeline.settings import Settings

__all__ = ["Database", "open_database"]

_BUSY_SECONDS = 30
_HINT = "a PostgreSQL address looks like postgresql://user@host/name; leave review.database out for SQLite"


class Database:
    """Transactions on the store.

    A transaction that writes holds the store (SQLite) or the rows that it locks (PostgreSQL). What it wrote is on the
    disk when the block ends; when the block raises, nothing of it is there.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._sqlite = engine.dialect.name == "sqlite"
        # SQLite has one writer, and its own waiting is by chance: threads of one server queue here in order.
        self._turn = threading.Lock() if self._sqlite else nullcontext()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that may write."""
        with self._turn, self._engine.connect() as opened:
            connection = opened.execution_options(rescue_writes=True)
            with connection.begin():
                yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the store, whatever others write meanwhile."""
        options = {} if self._sqlite else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        with self._engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()


def open_database(settings: Settings) -> Database:
    """Open the store that the settings name, and bring its tables up to date.

    Raises:
        UsageError: If the setting is no address of a database.
        PrerequisiteError: If the database cannot be reached, a newer version of this program wrote it, or files of the
            review page belong to another account.
    """
    url = _url(settings)
    if url.get_backend_name() == "sqlite":
        private_tree(settings.review_dir)
        open_private(Path(str(url.database)))  # SQLite gives its further files the rights of this one
    engine = _engine(url)
    try:
        _upgrade(engine)
    except SQLAlchemyError as error:
        # The driver's own words, never the address: it may hold a password.
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        msg = f"the database of the review page cannot be opened: {reason}"
        raise PrerequisiteError(msg, hint="check review.database in the settings, and that the server runs") from None
    return Database(engine)


def _url(settings: Settings) -> URL:
    named = settings.review.database
    if named is None:
        return URL.create("sqlite", database=str(settings.review_dir.absolute() / "review.db"))
    try:
        url = make_url(named.get_secret_value())
        if url.get_backend_name() == "postgresql":
            return url.set(drivername="postgresql+psycopg")
    except (ArgumentError, NoSuchModuleError):
        pass
    msg = "setting review.database: it is no address of a PostgreSQL database"
    raise UsageError(msg, hint=_HINT)


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "postgresql":
        # hide_parameters: errors would print what people wrote.
        return create_engine(url, pool_pre_ping=True, pool_size=20, max_overflow=30, hide_parameters=True)
    engine = create_engine(
        url, hide_parameters=True, pool_size=20, max_overflow=30, connect_args={"timeout": _BUSY_SECONDS}
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection, _record) -> None:  # type: ignore[no-untyped-def]
        connection.isolation_level = None  # transactions begin below, not where the driver guesses
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A reader that becomes a writer may find its snapshot old and fail: writers say so at the start.
        writes = connection.get_execution_options().get("rescue_writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _upgrade(engine: Engine) -> None:
    config = Config()
    config.set_main_option("script_location", "pipeline.review:migrations")
    with engine.connect().execution_options(rescue_writes=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":  # two servers that start together
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7266837)")
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
