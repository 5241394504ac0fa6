"""Migrations and transactions, on SQLite and PostgreSQL."""

from __future__ import annotations

import json
import socket
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import UTC, datetime, timedelta
from pathlib import Path

import alembic.command
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, column, func, insert, inspect, select, table, text, update
from sqlalchemy.exc import IntegrityError, OperationalError

from schemas.states import Stage
from schemas.tables import Base, ClaimRow, JobRow, ObjectRow, VerificationCheckRow
from tests.job_rows import add_job, job_row
from workers import database as database_module
from workers.claims import locked_job
from workers.database import Database, database_time, hold_advisory_lock, migration_config
from workers.identifiers import time_ordered_id


def test_the_migrations_build_the_tables_that_the_code_maps(database: Database) -> None:
    with database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


def test_every_migration_has_a_way_back(database: Database) -> None:
    with database.engine.begin() as connection:
        alembic.command.downgrade(migration_config(connection), "base")
    assert set(inspect(database.engine).get_table_names()) == {"alembic_version"}
    database.upgrade()
    assert set(inspect(database.engine).get_table_names()) == {"alembic_version", *Base.metadata.tables}


def test_processes_that_start_together_migrate_once(database_url: URL) -> None:
    start = threading.Barrier(6)

    def upgrade(_: int) -> None:
        database = Database(database_url)
        start.wait()
        database.upgrade()
        database.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(upgrade, range(6)))
    database = Database(database_url)
    with database.engine.connect() as connection:
        [head] = ScriptDirectory.from_config(migration_config(connection)).get_heads()
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all() == [head]
    database.close()


_JOB = {
    "name": "acme",
    "state": "converting",
    "recipe_id": "acme",
    "recipe_revision": 1,
    "recipe_sha256": "0" * 64,
    **dict.fromkeys(("recipe_document", "let", "sources", "resources"), "{}"),
    "verify": "full",
    "device": "auto",
    "created_at": "2026-05-06 07:08:09.123456",
    "lost_claims": 0,
}
_OBJECT = {
    "index": 0,
    "name": "norm",
    "kind": "tensor",
    "layout": "contiguous-le-v1",
    "offset": 0,
    "bytes": 2,
    "bytes_done": 0,
    "state": "pending",
    **dict.fromkeys(("reciprocals", "checks"), "[]"),
}


@pytest.mark.parametrize("revision", ["0001", "0002"])
def test_what_hangs_on_a_job_outlives_migrations(database_url: URL, revision: str) -> None:
    database = Database(database_url)
    job_id = time_ordered_id()
    job = _JOB if revision == "0001" else {**_JOB, "allow_unexecutable": False}
    with database.engine.begin() as connection:
        alembic.command.upgrade(migration_config(connection), revision)
        for name, values in (("jobs", {"id": job_id.hex, **job}), ("objects", {"job_id": job_id.hex, **_OBJECT})):
            connection.execute(insert(table(name, *map(column, values))).values(values))
    database.upgrade()
    with database.reading() as session:
        assert session.get_one(JobRow, job_id).name == "acme"
        assert [(row.job_id, row.name) for row in session.scalars(select(ObjectRow))] == [(job_id, "norm")]
    with pytest.raises(IntegrityError), database.writing() as session:
        session.execute(update(ObjectRow).values(job_id=time_ordered_id()))
    database.close()


def test_checks_go_to_rows_and_back(database_url: URL) -> None:
    checks = [{"name": "words equal the source's", "rows": 2**40, "passed": True}]
    checks.append({"name": "gaps zero", "rows": 7, "passed": False})
    job_id = time_ordered_id()
    jobs = {**_JOB, "id": job_id.hex, "allow_unexecutable": False}
    database = Database(database_url)
    with database.engine.begin() as connection:
        alembic.command.upgrade(migration_config(connection), "0002")
        connection.execute(insert(table("jobs", *map(column, jobs))).values(jobs))
        for index, written in enumerate([checks, []]):
            values = {**_OBJECT, "job_id": job_id.hex, "index": index, "checks": json.dumps(written)}
            connection.execute(insert(table("objects", *map(column, values))).values(values))
    database.upgrade()
    with database.reading() as session:
        found = session.scalars(select(VerificationCheckRow).order_by(VerificationCheckRow.position)).all()
        assert [{"name": row.name, "rows": row.rows, "passed": row.passed} for row in found] == checks
        assert [(row.job_id, row.object_index, row.position) for row in found] == [(job_id, 0, 0), (job_id, 0, 1)]
    with database.engine.begin() as connection:
        alembic.command.downgrade(migration_config(connection), "0011")
        stored = connection.execute(text('SELECT checks FROM objects ORDER BY "index"')).scalars().all()
        assert [json.loads(one) if isinstance(one, str) else one for one in stored] == [checks, []]
    database.close()


def test_foreign_keys_hold(database: Database) -> None:
    orphan = ClaimRow(job_id=time_ordered_id(), stage=Stage.PLANNING, worker="w", expires_at=datetime.now(UTC))
    with pytest.raises(IntegrityError), database.writing() as session:
        session.add(orphan)


def test_a_reading_session_sees_one_state(database: Database) -> None:
    with database.reading() as session:
        assert session.scalars(select(JobRow)).all() == []
        with database.writing() as writing:
            writing.add(job_row())
        assert session.scalars(select(JobRow)).all() == []
    with database.reading() as session:
        assert len(session.scalars(select(JobRow)).all()) == 1


def test_a_failed_block_leaves_nothing_written(database: Database) -> None:
    def add_and_fail() -> None:
        with database.writing() as session:
            session.add(job_row())
            session.flush()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        add_and_fail()
    with database.reading() as session:
        assert session.scalars(select(JobRow)).all() == []


def test_moments_come_back_in_utc(database: Database) -> None:
    job = job_row()
    job.created_at = datetime(2026, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
    with database.writing() as session:
        session.add(job)
        job_id = job.id
    with database.reading() as session:
        assert session.get_one(JobRow, job_id).created_at == datetime(2026, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
        assert abs(database_time(session) - datetime.now(UTC)) < timedelta(minutes=5)


def test_writers_wait_for_each_other_and_lose_nothing(database: Database) -> None:
    with database.writing() as session:
        job = job_row()
        session.add(job)
        job_id = job.id

    def count(_: int) -> None:
        with database.writing() as session:
            row = session.scalars(select(JobRow).where(JobRow.id == job_id).with_for_update()).one()
            row.lost_claims += 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count, range(80)))
    with database.reading() as session:
        assert session.get_one(JobRow, job_id).lost_claims == 80


def test_whoever_waits_for_the_write_lock_is_told_if_it_is_never_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = URL.create("sqlite", database=str(tmp_path / "shared.sqlite3"))
    one, other = Database(url), Database(url)
    one.upgrade()
    monkeypatch.setattr("workers.database._WAITING_MS", 50)
    with one.writing() as session:
        session.add(job_row())
        session.flush()
        with pytest.raises(OperationalError, match="locked"), other.writing() as waiting:
            waiting.execute(select(1))
    with other.writing() as session:
        assert session.scalar(select(func.count()).select_from(JobRow)) == 1
    for database in (one, other):
        database.close()


def test_a_file_that_another_process_recovers_is_waited_for() -> None:
    refusals = [sqlite3.SQLITE_BUSY_RECOVERY, sqlite3.SQLITE_BUSY]

    def run() -> None:
        if refusals:
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = refusals.pop()
            raise error

    database_module._when_free(run, 0.0)
    assert refusals == []
    refusals.append(sqlite3.SQLITE_FULL)
    with pytest.raises(sqlite3.OperationalError):
        database_module._when_free(run, 0.0)


def test_ids_sort_by_age() -> None:
    ids = [time_ordered_id() for _ in range(2000)]
    clocks = [job_id.int >> 64 for job_id in ids]
    assert clocks == sorted(clocks)
    assert len(set(ids)) == len(ids)
    assert {(job_id.version, job_id.variant) for job_id in ids} == {(7, "specified in RFC 4122")}


def test_a_process_that_stands_still_in_a_transaction_keeps_no_lock(
    postgresql_url: URL, postgresql_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.database._STANDSTILL_MS", 200)
    job_id = add_job(postgresql_database)
    standing_still = Database(postgresql_url)
    with pytest.raises(OperationalError), standing_still.writing() as session:
        assert locked_job(session, job_id)
        with postgresql_database.writing() as other:
            other.get_one(JobRow, job_id, with_for_update=True).name = "changed"
        session.execute(select(JobRow.id))
    with standing_still.reading() as session:
        assert session.get_one(JobRow, job_id).name == "changed"
    standing_still.close()


def test_nobody_waits_for_a_lock_without_end_but_who_migrates(
    postgresql_url: URL, postgresql_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.database._WAITING_MS", 200)
    job_id = add_job(postgresql_database)
    waiting = Database(postgresql_url)
    with ThreadPoolExecutor(1) as pool:
        with postgresql_database.writing() as session:
            assert locked_job(session, job_id)
            with pytest.raises(OperationalError, match="lock timeout"), waiting.writing() as other:
                locked_job(other, job_id)
            hold_advisory_lock(session, database_module._MIGRATION_LOCK)
            migrated = pool.submit(waiting.upgrade)
            assert not wait([migrated], timeout=1).done
        migrated.result(60)
    waiting.close()


def test_a_server_that_does_not_answer_is_told_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.database._CONNECT_SECONDS", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = URL.create("postgresql+psycopg", "u", host="127.0.0.1", port=silent.getsockname()[1], database="d")
        database = Database(url)
        with pytest.raises(OperationalError, match="timeout"), database.reading() as session:
            session.execute(select(JobRow.id))
        database.close()
