"""Rows of worker processes: kept alive by beats, lost without, forgotten after a day."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, select

from schemas.tables import WorkerRow
from tests.job_rows import worker_row
from workers import liveness
from workers.database import Database, database_time
from workers.liveness import KEPT, WorkerIdentity
from workers.settings import Settings


@pytest.fixture
def worker(tmp_path: Path) -> WorkerIdentity:
    return WorkerIdentity.of_this_process(Settings(data=tmp_path, threads=3, lease_seconds=7, sweep_seconds=2))


def names(database: Database, *, alive: bool = False) -> list[str]:
    with database.reading() as session:
        query = select(WorkerRow.name).order_by(WorkerRow.name)
        return list(session.scalars(query.where(liveness.is_alive(session)) if alive else query))


def beat(database: Database, worker: WorkerIdentity) -> None:
    with database.writing() as session:
        liveness.beat(session, worker)


def test_a_process_has_one_row_that_each_beat_keeps_alive(database: Database, worker: WorkerIdentity) -> None:
    beat(database, worker)
    with database.reading() as session:
        first = session.get_one(WorkerRow, worker.name)
        assert (first.device, first.threads, first.pid) == ("cpu", 3, worker.pid)
        assert first.expires_at - first.heartbeat_at == timedelta(seconds=7)
    beat(database, worker)
    assert names(database, alive=True) == [worker.name]
    with database.reading() as session:
        again = session.get_one(WorkerRow, worker.name)
        assert again.started_at == first.started_at < again.heartbeat_at


def test_two_processes_of_one_host_and_pid_are_two_workers(database: Database, tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    both = [WorkerIdentity.of_this_process(settings) for _ in range(2)]
    for worker in both:
        beat(database, worker)
    assert names(database) == sorted(worker.name for worker in both)


def test_seldom_sweeps_do_not_make_a_worker_count_as_lost(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, lease_seconds=5, sweep_seconds=60)
    assert WorkerIdentity.of_this_process(settings).patience > timedelta(seconds=120)


@pytest.mark.parametrize("ending", ["lost", "ended"])
def test_a_dead_worker_is_told_of_for_a_day(database: Database, worker: WorkerIdentity, ending: str) -> None:
    beat(database, worker)
    with database.writing() as session:
        if ending == "ended":
            liveness.end(session, worker)
        else:
            session.get_one(WorkerRow, worker.name).expires_at = database_time(session)
    assert (names(database), names(database, alive=True)) == ([worker.name], [])
    other = _worker("other")
    for age, remembered in ((KEPT - timedelta(minutes=1), True), (KEPT + timedelta(minutes=1), False)):
        with database.writing() as session:
            session.get_one(WorkerRow, worker.name).heartbeat_at = database_time(session) - age
        beat(database, other)
        assert (worker.name in names(database)) is remembered


def test_a_worker_that_was_forgotten_comes_back(database: Database, worker: WorkerIdentity) -> None:
    """As one does whose machine slept for two days."""
    beat(database, worker)
    with database.writing() as session:
        session.get_one(WorkerRow, worker.name).heartbeat_at = database_time(session) - 2 * KEPT
    beat(database, _worker("other"))
    beat(database, worker)
    assert names(database, alive=True) == sorted(["other", worker.name])


def test_two_that_come_back_at_once_do_not_forget_each_other(postgresql_database: Database) -> None:
    names_of_two = ["a", "b"]
    with postgresql_database.writing() as session:
        long_ago = database_time(session) - 2 * KEPT
        session.add_all(worker_row(name, heartbeat_at=long_ago) for name in names_of_two)
    both = threading.Barrier(2, timeout=30)

    def meet(*call: Any) -> None:
        if call[2].startswith("UPDATE workers"):
            both.wait()

    event.listen(postgresql_database.engine, "before_cursor_execute", meet)
    with ThreadPoolExecutor(2) as pool:
        for beaten in [pool.submit(beat, postgresql_database, _worker(name)) for name in names_of_two]:
            beaten.result(60)
    assert names(postgresql_database, alive=True) == names_of_two


def _worker(name: str) -> WorkerIdentity:
    return WorkerIdentity(name, "host", 1, "cpu", 1, "1", timedelta(seconds=9))
