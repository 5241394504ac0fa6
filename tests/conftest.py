"""Databases that tests run on: SQLite in a file, and a PostgreSQL database of this session's own. Instruction sets."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from sqlalchemy import URL, create_engine, delete, make_url, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from schemas.tables import Base
from tests.instruction_sets import RUNNABLE, using
from tests.running_service import RunningService, running_service
from workers.database import Database

POSTGRESQL_VARIABLE = "NINFORGE_TEST_POSTGRESQL"
POSTGRESQL_SERVER = "postgresql+psycopg://postgres@127.0.0.1:5432/postgres"
REDIS_VARIABLE = "NINFORGE_TEST_REDIS"
REDIS_SERVER = "redis://127.0.0.1:6379"
REDIS_DATABASES = 16


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[URL]:
    """A database made for this session on a server that is already running, and dropped after it."""
    server = make_url(os.environ.get(POSTGRESQL_VARIABLE, POSTGRESQL_SERVER))
    name = f"ninforge_test_{uuid4().hex}"
    administration = create_engine(server, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    try:
        with administration.connect() as connection:
            connection.execute(text(f'CREATE DATABASE "{name}"'))
    except OperationalError as error:
        reason = f"no PostgreSQL server to test on ({POSTGRESQL_VARIABLE} names one): {error.orig}"
        if "CI" in os.environ:
            pytest.fail(reason)
        pytest.skip(reason)
    yield server.set(database=name)
    with administration.connect() as connection:
        connection.execute(text(f'DROP DATABASE "{name}" WITH (FORCE)'))


@pytest.fixture
def redis_url() -> Iterator[str]:
    """One of the numbered databases of a Redis server that is already running: one that was empty, and is after it."""
    server = os.environ.get(REDIS_VARIABLE, REDIS_SERVER)
    for number in range(1, REDIS_DATABASES):
        url = f"{server}/{number}"
        client = Redis.from_url(url)
        try:
            taken = not client.dbsize() and client.set("taken", "by a test", nx=True, ex=3600)
        except RedisConnectionError as error:
            reason = f"no Redis server to test on ({REDIS_VARIABLE} names one): {error}"
            if "CI" in os.environ:
                pytest.fail(reason)
            pytest.skip(reason)
        if taken:
            yield url
            client.flushdb()
            return
    pytest.fail(f"expected an empty one of the {REDIS_DATABASES} databases of {server}, found none")


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> URL:
    """The URL of an empty database, once on each of the two servers."""
    if request.param == "sqlite":
        return URL.create("sqlite", database=str(tmp_path / "ninforge.sqlite3"))
    url: URL = request.getfixturevalue("postgresql_url")
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    return url


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with an up-to-date database without rows, to be copied."""
    file = tmp_path_factory.mktemp("template") / "ninforge.sqlite3"
    database = Database(URL.create("sqlite", database=str(file)))
    database.upgrade()
    database.close()
    return file


@pytest.fixture
def sqlite_database(sqlite_template: Path, tmp_path: Path) -> Iterator[Database]:
    """An up-to-date SQLite database without rows."""
    file = tmp_path / "ninforge.sqlite3"
    shutil.copyfile(sqlite_template, file)
    database = Database(URL.create("sqlite", database=str(file)))
    yield database
    database.close()


@pytest.fixture
def postgresql_database(postgresql_url: URL) -> Iterator[Database]:
    """An up-to-date PostgreSQL database without rows."""
    database = Database(postgresql_url)
    database.upgrade()
    with database.writing() as session:
        for table in reversed(Base.metadata.sorted_tables):
            session.execute(delete(table))
    yield database
    database.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Database:
    """An up-to-date database without rows, once on each of the two servers."""
    database: Database = request.getfixturevalue(f"{request.param}_database")
    return database


@pytest.fixture
def service(tmp_path: Path, sqlite_template: Path) -> Iterator[RunningService]:
    """A service without jobs, whose sources hold the small checkpoint."""
    data = tmp_path / "data"
    data.mkdir()
    shutil.copyfile(sqlite_template, data / "ninforge.sqlite3")
    with running_service(data) as service:
        yield service


@pytest.fixture(params=RUNNABLE)
def every_instruction_set(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each instruction set that kernels can use here, in turn."""
    with using(request.param):
        yield
