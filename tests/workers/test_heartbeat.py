"""Signs of life: a claim outlives its lease while work goes on, and the work does not outlive its claim."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from schemas.errors import CancelledError
from schemas.states import JobState
from schemas.tables import ObjectRow
from tests.job_rows import add_job
from workers import claims
from workers.claims import Claim
from workers.database import Database
from workers.heartbeat import Heartbeat
from workers.storage import Storage
from workers.sweeper import sweep

SHORT = timedelta(seconds=1.5)


def test_a_claim_outlives_its_lease_while_work_goes_on(sqlite_database: Database, storage: Storage) -> None:
    job_id, claim = _claimed(sqlite_database)
    with Heartbeat(sqlite_database, claim, SHORT, threading.Event()):
        for _ in range(4):
            time.sleep(SHORT.total_seconds() / 2)
            sweep(sqlite_database, storage)
        with sqlite_database.writing() as session:
            claims.require(session, claim)
    time.sleep(SHORT.total_seconds() * 2)
    assert sweep(sqlite_database, storage) == job_id


def test_progress_goes_to_sql_with_each_beat(sqlite_database: Database) -> None:
    job_id, claim = _claimed(sqlite_database)
    with Heartbeat(sqlite_database, claim, SHORT, threading.Event()) as heartbeat:
        heartbeat.advanced(1, 3)
        heartbeat.advanced(0, 2)
        heartbeat.advanced(1, 4)
        _until(lambda: _done(sqlite_database, job_id) == [2, 7])


def test_work_stops_when_its_claim_is_lost(sqlite_database: Database) -> None:
    job_id, claim = _claimed(sqlite_database)
    with Heartbeat(sqlite_database, claim, SHORT, threading.Event()) as heartbeat:
        heartbeat.advanced(0, 1)
        with sqlite_database.writing() as session:
            job = claims.locked_job(session, job_id)
            assert job is not None
            claims.revoke_all(session, job)
        _until(lambda: _is_stopped(heartbeat))


def test_work_stops_when_the_worker_is_to_end(sqlite_database: Database) -> None:
    _, claim = _claimed(sqlite_database)
    stopping = threading.Event()
    with Heartbeat(sqlite_database, claim, SHORT, stopping) as heartbeat:
        heartbeat.advanced(0, 1)
        stopping.set()
        with pytest.raises(CancelledError):
            heartbeat.advanced(0, 1)


def test_a_database_that_is_away_for_less_than_a_lease_is_survived(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id, claim = _claimed(sqlite_database)
    with Heartbeat(sqlite_database, claim, SHORT, threading.Event()) as heartbeat:
        with monkeypatch.context() as patch:
            patch.setattr(claims, "renew", _away)
            time.sleep(SHORT.total_seconds() / 2)
        heartbeat.advanced(0, 5)
        _until(lambda: _done(sqlite_database, job_id) == [5, 0])
        assert not _is_stopped(heartbeat)


def test_work_stops_when_the_database_is_away_for_longer(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, claim = _claimed(sqlite_database)
    monkeypatch.setattr(claims, "renew", _away)
    with Heartbeat(sqlite_database, claim, SHORT, threading.Event()) as heartbeat:
        _until(lambda: _is_stopped(heartbeat))


@pytest.fixture
def storage(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    storage = Storage(tmp_path_factory.mktemp("data"))
    storage.prepare()
    return storage


def _claimed(database: Database) -> tuple[UUID, Claim]:
    job_id = add_job(database, JobState.CONVERTING, [10, 20])
    with database.writing() as session:
        claim = claims.claim_objects(session, job_id, worker="w", lease=SHORT, max_bytes=100)
    assert claim is not None
    return job_id, claim


def _done(database: Database, job_id: UUID) -> list[int]:
    with database.reading() as session:
        query = select(ObjectRow.bytes_done).where(ObjectRow.job_id == job_id).order_by(ObjectRow.index)
        return list(session.scalars(query))


def _is_stopped(heartbeat: Heartbeat) -> bool:
    try:
        heartbeat.advanced(0, 0)
    except CancelledError:
        return True
    return False


def _away(*_: object, **__: object) -> None:
    raise OperationalError("renew", {}, ConnectionError("the server is away"))


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, "it did not come to hold"
        time.sleep(0.05)
