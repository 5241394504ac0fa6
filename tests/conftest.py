"""Databases that tests run on: SQLite in a file, a PostgreSQL database of the session, Redis. Instruction sets."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import URL, create_engine, delete, text
from sqlalchemy.pool import NullPool

from schemas.tables import Base
from tests.instruction_sets import RUNNABLE, using
from tests.running_service import Databases, RunningService, running_service
from tests.servers import postgresql_database_on, postgresql_server, redis_database
from workers.database import Database


def pytest_addoption(parser: pytest.Parser) -> None:
    """Lets all services of a session have PostgreSQL databases instead of SQLite files."""
    parser.addoption("--services-on", choices=("sqlite", "postgresql"), default="sqlite")


@pytest.fixture(scope="session", autouse=True)
def _databases_of_services(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.config.getoption("--services-on") == "sqlite":
        yield
        return
    with postgresql_database_on(request.getfixturevalue("postgresql")) as template:
        database = Database(template)
        database.upgrade()
        database.close()
        Databases.template = template
        yield
        Databases.template = None


@pytest.fixture(scope="session")
def postgresql() -> Iterator[URL]:
    """A PostgreSQL server."""
    with postgresql_server() as server:
        yield server


@pytest.fixture(scope="session")
def postgresql_url(postgresql: URL) -> Iterator[URL]:
    """A database made for this session, and dropped after it."""
    with postgresql_database_on(postgresql) as url:
        yield url


@pytest.fixture
def redis_url() -> Iterator[str]:
    """A database of Redis without keys."""
    with redis_database() as url:
        yield url


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
