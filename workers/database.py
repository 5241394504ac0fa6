"""The database: SQLite in WAL mode or PostgreSQL, through one engine, and its migrations."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import alembic.command
import alembic.config
from sqlalchemy import URL, Connection, Engine, create_engine, event, func, make_url, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine.interfaces import DBAPIConnection, ExceptionContext
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session
from sqlalchemy.pool import ConnectionPoolEntry

import migrations
from schemas.errors import OutputError
from schemas.tables import Base, UtcDateTime
from workers.fair_lock import FairLock
from workers.settings import Settings

_WRITE = "ninforge_write"
_WAITING_MS = 30_000
"""What a statement waits for others in, on either database; then it fails."""
_RETRY_SECONDS = 0.02
_LOOK_SECONDS = 0.001
_PRIMARY_CODE = 0xFF
"""Of SQLite's codes; the rest says why."""
_IN_USE = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_CONNECT_SECONDS = 10
_STANDSTILL_MS = 20_000
_ENDED_AT_STANDSTILL = "25P03"
_CONNECTIONS = 10
"""Kept open by a process that needs them, and as many again when there is much to do."""
_MIGRATION_LOCK = 0x6E69_6E66_6F72_6765
_ASKED_AT_ONCE = 200

Value = TypeVar("Value")


class Database:
    """Sessions for reading and for writing, each one transaction.

    On SQLite a writing transaction takes the write lock as it begins: one that began by reading could only fail when
    it came to write after another's commit. Threads of one process come to it in turn: SQLite would have each try
    again and again, and some for seconds. On PostgreSQL rows are locked where the statements say so.
    """

    def __init__(self, url: URL) -> None:
        if url.get_backend_name() == "sqlite":
            self.engine = _sqlite_engine(url)
            self._reading_engine = self.engine
            self._turn: AbstractContextManager[object] = FairLock()
        else:
            self.engine = _postgresql_engine(url)
            self._reading_engine = self.engine.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )
            self._turn = nullcontext()
        self._writing_engine = self.engine.execution_options(**{_WRITE: True})

    @classmethod
    def of(cls, settings: Settings) -> Database:
        """The database that the settings name. The data folder must exist."""
        if settings.database_url is None:
            return cls(URL.create("sqlite", database=str(_sqlite_file(settings))))
        return cls(make_url(settings.database_url))

    @classmethod
    def existing(cls, settings: Settings) -> Database:
        """The database that the settings name. Raises OutputError instead of making one in the data folder."""
        if settings.database_url is None and not _sqlite_file(settings).is_file():
            raise OutputError(
                f"data folder {settings.data}",
                expected="one with the service's database, or its address in NINFORGE_DATABASE_URL",
                found="none",
            )
        return cls.of(settings)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that sees one state of the database and changes nothing."""
        with Session(self._reading_engine) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A session that commits at the end of the block, or rolls back if the block raises."""
        with self._turn, Session(self._writing_engine) as session, session.begin():
            yield session

    def upgrade(self) -> None:
        """Brings the tables to the newest migration. Processes that start together wait for each other."""
        with self._writing_engine.connect() as connection, _without_foreign_keys(connection), connection.begin():
            if connection.dialect.name == "postgresql":
                connection.execute(text("SET LOCAL lock_timeout = 0"))  # another's migration may take long
                connection.execute(select(func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
            alembic.command.upgrade(migration_config(connection), "head")

    def close(self) -> None:
        self.engine.dispose()


def migration_config(connection: Connection) -> alembic.config.Config:
    """Alembic's configuration for the packaged migrations, over this connection and its transaction."""
    config = alembic.config.Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


@contextmanager
def _without_foreign_keys(connection: Connection) -> Iterator[None]:
    """SQLite changes a table by making it anew, and dropping the old one would take along all that refers to it. What a
    migration may not break holds again after the block, whose connection is thrown away."""
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.dbapi_connection
        driver.execute("PRAGMA foreign_keys = OFF")
        try:
            yield
        finally:
            connection.invalidate()
    else:
        yield


def few_at_a_time(values: Iterable[Value]) -> Iterator[list[Value]]:
    """The values in lists that one query may ask for: SQLite takes an expression of a thousand terms, and not more."""
    left = iter(values)
    while few := list(islice(left, _ASKED_AT_ONCE)):
        yield few


def database_time(session: Session) -> datetime:
    """The time by the database's clock, so that leases do not hang on how well the clocks of workers agree.

    SQLite's clock is that of this machine, which all its users share.
    """
    if session.get_bind().dialect.name == "sqlite":
        return datetime.now(UTC)
    return session.execute(select(func.clock_timestamp(type_=UtcDateTime()))).scalar_one()


def hold_advisory_lock(session: Session, *key: int) -> None:
    """Keeps others from this advisory lock of PostgreSQL, of one number of 64 bits or two of 32, until the transaction
    ends. SQLite has one writing transaction at a time anyway."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(select(func.pg_advisory_xact_lock(*key)))


def insert_if_new(session: Session, table: type[Base]) -> Any:
    """An INSERT into a table that leaves out rows whose keys are there. It is each database's own, called the same."""
    insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    return insert(table).on_conflict_do_nothing()


def _sqlite_file(settings: Settings) -> Path:
    return settings.data / "ninforge.sqlite3"


def _when_free(run: Callable[[], object], pause: float) -> None:
    """Runs what SQLite refuses while another process has the file, as soon as it no longer does; looks every `pause` s.
    Raises the last refusal after as long as any other statement waits."""
    deadline = time.monotonic() + _WAITING_MS / 1000
    while True:
        try:
            run()
        except (sqlite3.OperationalError, OperationalError) as error:
            code = getattr(getattr(error, "orig", error), "sqlite_errorcode", 0)
            if code & _PRIMARY_CODE not in _IN_USE or time.monotonic() > deadline:
                raise
            time.sleep(pause)
        else:
            return


def _begin_writing(connection: Connection) -> None:
    """Begins a transaction as soon as no other process has the write lock. SQLite's own wait sleeps for up to a tenth
    of a second between two looks, in which others come first."""
    connection.exec_driver_sql("PRAGMA busy_timeout = 0")
    try:
        _when_free(lambda: connection.exec_driver_sql("BEGIN IMMEDIATE"), _LOOK_SECONDS)
    finally:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {_WAITING_MS}")


def _postgresql_engine(url: URL) -> Engine:
    """Connections that find out when the server is gone, and that the server finds out about: a process that stands
    still in a transaction holds locks that others wait for, until the server ends its session. Whatever holds a lock,
    nobody waits for it without end."""
    engine = create_engine(
        url,
        pool_pre_ping=True,
        pool_size=_CONNECTIONS,
        max_overflow=_CONNECTIONS,
        connect_args={
            "connect_timeout": _CONNECT_SECONDS,
            "keepalives_idle": 30,
            "keepalives_interval": 10,
            "keepalives_count": 3,
            "options": f"-c idle_in_transaction_session_timeout={_STANDSTILL_MS} -c lock_timeout={_WAITING_MS}",
        },
    )

    @event.listens_for(engine, "handle_error")
    def tell_as_lost(context: ExceptionContext) -> None:
        """As any other connection that was lost: the driver has it as an internal error."""
        error = context.original_exception
        if getattr(error, "sqlstate", None) == _ENDED_AT_STANDSTILL:
            raise OperationalError(context.statement, None, error)

    return engine


def _sqlite_engine(url: URL) -> Engine:
    engine = create_engine(url)

    @event.listens_for(engine, "connect")
    def configure(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        # The driver must not begin transactions on its own: `begin` below does.
        driver: Any = connection
        driver.isolation_level = None
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {_WAITING_MS}")
        # Where several processes switch at once, SQLite refuses some without waiting.
        _when_free(lambda: driver.execute("PRAGMA journal_mode = WAL"), _RETRY_SECONDS)
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get(_WRITE, False):
            _begin_writing(connection)
        else:
            connection.exec_driver_sql("BEGIN")

    return engine
