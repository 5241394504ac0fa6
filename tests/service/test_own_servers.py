"""The servers that tests start where none runs: they serve the service, and leave nothing behind."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from sqlalchemy import create_engine
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from tests.job_rows import add_job, job_state
from tests.servers import own_postgresql, own_redis, postgresql_database_on, redis_url_of
from workers.application import celery_application, waiting_messages, wake
from workers.database import Database
from workers.identifiers import time_ordered_id
from workers.settings import Settings


def test_a_postgresql_server_of_one_s_own() -> None:
    with own_postgresql() as server, postgresql_database_on(server) as url:
        database = Database(url)
        database.upgrade()
        assert job_state(database, add_job(database)) == "queued"
        database.close()
    with pytest.raises(OperationalError), create_engine(server, poolclass=NullPool).connect():
        pass
    folder = server.query["host"]
    assert isinstance(folder, str)
    assert not Path(folder).exists()


def test_a_redis_server_of_one_s_own(tmp_path: Path) -> None:
    with own_redis() as server:
        application = celery_application(Settings(data=tmp_path, broker_url=redis_url_of(server)))
        wake(application, time_ordered_id())
        assert waiting_messages(application) == {"cpu": 1, "cuda": 0}
        address = server.host, server.port
        application.close()
    with pytest.raises(ConnectionRefusedError), socket.create_connection(address):
        pass
