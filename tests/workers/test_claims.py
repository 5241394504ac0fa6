"""Claims on both databases: who gets what, what a late worker may do, and what is free again when."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError

from schemas.states import JobState, ObjectState, Stage
from schemas.tables import ClaimRow, JobRow, ObjectRow
from tests.job_rows import add_job, job_state, object_states
from workers import claims
from workers.claims import Claim, ClaimLostError
from workers.database import Database, database_time

LEASE = timedelta(seconds=60)
OVER = timedelta(seconds=-1)


def test_one_worker_plans(database: Database) -> None:
    job_id = add_job(database)
    assert _claim_job(database, job_id, Stage.PLANNING) is not None
    assert job_state(database, job_id) is JobState.PLANNING
    assert _claim_job(database, job_id, Stage.PLANNING) is None


def test_a_planner_that_died_is_followed_by_another_with_a_higher_token(database: Database) -> None:
    job_id = add_job(database)
    first = _claim_job(database, job_id, Stage.PLANNING, lease=OVER)
    _expire(database, job_id)
    second = _claim_job(database, job_id, Stage.PLANNING)
    assert first is not None
    assert second is not None
    assert second.id > first.id


@pytest.mark.parametrize("state", [JobState.CONVERTING, JobState.READY, JobState.FAILED, JobState.CANCELLED])
def test_planning_is_due_only_before_converting(database: Database, state: JobState) -> None:
    assert _claim_job(database, add_job(database, state), Stage.PLANNING) is None


def test_verifying_is_due_when_every_object_is_encoded(database: Database) -> None:
    job_id = add_job(database, JobState.CONVERTING, [10, 20])
    claim = _claim_objects(database, job_id)
    assert _claim_job(database, job_id, Stage.VERIFYING) is None
    _finish(database, claim)
    assert _claim_job(database, job_id, Stage.VERIFYING) is not None
    assert job_state(database, job_id) is JobState.VERIFYING
    assert _claim_job(database, job_id, Stage.VERIFYING) is None


def test_two_planners_of_one_job_cannot_both_be_written(database: Database) -> None:
    job_id = add_job(database)
    _claim_job(database, job_id, Stage.PLANNING)
    with pytest.raises(IntegrityError), database.writing() as session:
        session.add(
            ClaimRow(job_id=job_id, stage=Stage.VERIFYING, worker="b", expires_at=database_time(session) + LEASE)
        )


def test_objects_are_claimed_largest_first_within_the_budget(database: Database) -> None:
    job_id = add_job(database, JobState.CONVERTING, [5, 100, 30, 40, 1])
    assert _claim_objects(database, job_id, max_bytes=140).indices == (1, 3)
    assert _claim_objects(database, job_id, max_bytes=36).indices == (2, 0, 4)
    with pytest.raises(AssertionError, match="nothing to claim"):
        _claim_objects(database, job_id)


def test_an_object_beyond_the_budget_is_claimed_alone(database: Database) -> None:
    job_id = add_job(database, JobState.CONVERTING, [500, 2, 1])
    assert _claim_objects(database, job_id, max_bytes=10).indices == (0,)
    assert _claim_objects(database, job_id, max_bytes=10).indices == (1, 2)


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.VERIFYING, JobState.FAILED, JobState.CANCELLED])
def test_objects_are_claimed_only_while_converting(database: Database, state: JobState) -> None:
    job_id = add_job(database, state, [1])
    with pytest.raises(AssertionError, match="nothing to claim"):
        _claim_objects(database, job_id)


def test_threads_that_claim_at_once_share_the_objects_out(database: Database) -> None:
    job_id = add_job(database, JobState.CONVERTING, [1] * 200)

    def claim_all(worker: int) -> list[int]:
        taken: list[int] = []
        while True:
            with database.writing() as session:
                claim = claims.claim_objects(session, job_id, worker=f"w{worker}", lease=LEASE, max_bytes=7)
            if claim is None:
                return taken
            taken += claim.indices

    with ThreadPoolExecutor(8) as pool:
        taken = [index for indices in pool.map(claim_all, range(8)) for index in indices]
    assert sorted(taken) == list(range(200))


_CLAIMING_PROCESS = """
import sys
from datetime import timedelta
from uuid import UUID
from sqlalchemy import make_url
from workers import claims
from workers.database import Database

database = Database(make_url(sys.argv[1]))
sys.stdin.readline()
while True:
    with database.writing() as session:
        claim = claims.claim_objects(
            session, UUID(sys.argv[2]), worker="w", lease=timedelta(seconds=60), max_bytes=5
        )
    if claim is None:
        break
    print(*claim.indices, sep="\\n")
"""


def test_processes_that_claim_at_once_share_the_objects_out(database: Database) -> None:
    job_id = add_job(database, JobState.CONVERTING, [1] * 200)
    url = database.engine.url.render_as_string(hide_password=False)
    command = [sys.executable, "-c", _CLAIMING_PROCESS, url, str(job_id)]
    with _all_ended(
        [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    ) as processes:
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert sorted(int(line) for output in outputs for line in output.split()) == list(range(200))


def test_renewing_prolongs_the_claim_and_notes_progress(database: Database) -> None:
    job_id = add_job(database, JobState.CONVERTING, [10, 20])
    claim = _claim_objects(database, job_id, lease=OVER)
    with database.writing() as session:
        claims.renew(session, claim, lease=LEASE, progress={1: 15})
    assert _expire(database, job_id) is False
    with database.reading() as session:
        done = {row.index: row.bytes_done for row in session.scalars(select(ObjectRow))}
    assert done == {0: 0, 1: 15}


def test_expired_claims_free_their_objects(database: Database) -> None:
    job_id = add_job(database, JobState.CONVERTING, [10, 20, 30])
    kept = _claim_objects(database, job_id, max_bytes=30)
    lost = _claim_objects(database, job_id, lease=OVER)
    with database.reading() as session:
        assert claims.jobs_with_expired_claims(session) == [job_id]
    assert _expire(database, job_id) is True
    assert object_states(database, job_id) == [ObjectState.PENDING, ObjectState.PENDING, ObjectState.ENCODING]
    assert (kept.indices, lost.indices) == ((2,), (1, 0))
    assert _claim_objects(database, job_id).indices == (1, 0)


def test_a_late_worker_is_fenced_off(database: Database) -> None:
    job_id = add_job(database, JobState.CONVERTING, [10])
    late = _claim_objects(database, job_id, lease=OVER)
    _expire(database, job_id)
    current = _claim_objects(database, job_id)
    with pytest.raises(ClaimLostError):
        _renew(database, late)
    with pytest.raises(ClaimLostError):
        _finish(database, late)
    with database.writing() as session:
        claims.hand_back(session, late)
    assert object_states(database, job_id) == [ObjectState.ENCODING]
    _finish(database, current)
    assert object_states(database, job_id) == [ObjectState.ENCODED]


def test_handing_back_frees_the_objects_without_counting_a_loss(database: Database) -> None:
    job_id = add_job(database, JobState.CONVERTING, [10, 20])
    claim = _claim_objects(database, job_id)
    with database.writing() as session:
        claims.hand_back(session, claim)
    assert object_states(database, job_id) == [ObjectState.PENDING, ObjectState.PENDING]
    with database.reading() as session:
        assert session.get_one(JobRow, job_id).lost_claims == 0


def test_losses_count_until_the_job_moves_on(database: Database) -> None:
    job_id = add_job(database)
    for expected in (1, 2, 3):
        _claim_job(database, job_id, Stage.PLANNING, lease=OVER)
        _expire(database, job_id)
        with database.reading() as session:
            assert session.get_one(JobRow, job_id).lost_claims == expected
    with database.writing() as session:
        claims.enter_state(session, session.get_one(JobRow, job_id), JobState.CONVERTING)
    with database.reading() as session:
        assert session.get_one(JobRow, job_id).lost_claims == 0


def test_waiting_jobs_are_found_oldest_first(database: Database) -> None:
    assert _waiting(database) is None
    queued, converting, verifying = (
        add_job(database),
        add_job(database, JobState.CONVERTING, [10, 20]),
        add_job(database, JobState.VERIFYING),
    )
    add_job(database, JobState.READY)
    assert _waiting(database) == queued
    _claim_job(database, queued, Stage.PLANNING)
    assert _waiting(database) == converting
    _claim_objects(database, converting, max_bytes=20)
    assert _waiting(database) == converting, "another worker can help"
    _claim_objects(database, converting)
    assert _waiting(database) == verifying
    _claim_job(database, verifying, Stage.VERIFYING)
    assert _waiting(database) is None


def test_a_job_whose_objects_are_all_encoded_waits_for_its_verifier(database: Database) -> None:
    job_id = add_job(database, JobState.CONVERTING, [10])
    _finish(database, _claim_objects(database, job_id))
    assert _waiting(database) == job_id


def test_revoking_ends_every_claim_of_the_job_only(database: Database) -> None:
    job_id = add_job(database, JobState.CONVERTING, [10, 20])
    other = add_job(database, JobState.CONVERTING, [10])
    mine = [_claim_objects(database, job_id, max_bytes=20), _claim_objects(database, job_id)]
    theirs = _claim_objects(database, other)
    with database.writing() as session:
        claims.revoke_all(session, session.get_one(JobRow, job_id))
    for claim in mine:
        with pytest.raises(ClaimLostError):
            _renew(database, claim)
    _renew(database, theirs)


def test_renewing_and_revoking_at_once_never_deadlock(database: Database) -> None:
    job_id = add_job(database, JobState.CONVERTING, [1] * 64)
    for _ in range(10):
        held = [_claim_objects(database, job_id, max_bytes=8) for _ in range(8)]
        start = threading.Barrier(9)

        def renew(claim: Claim, start: threading.Barrier = start) -> None:
            start.wait()
            deadline = time.monotonic() + 10
            with pytest.raises(ClaimLostError):
                while time.monotonic() < deadline:
                    _renew(database, claim)

        with ThreadPoolExecutor(8) as pool:
            renewals = [pool.submit(renew, claim) for claim in held]
            start.wait()
            with database.writing() as session:
                job = claims.locked_job(session, job_id)
                assert job is not None
                claims.revoke_all(session, job)
            for renewal in renewals:
                renewal.result(timeout=30)


@contextmanager
def _all_ended(processes: list[subprocess.Popen[str]]) -> Iterator[list[subprocess.Popen[str]]]:
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def _claim_job(database: Database, job_id: UUID, stage: Stage, lease: timedelta = LEASE) -> Claim | None:
    with database.writing() as session:
        return claims.claim_job(session, job_id, stage, worker="w", lease=lease)


def _claim_objects(database: Database, job_id: UUID, lease: timedelta = LEASE, max_bytes: int = 1 << 40) -> Claim:
    with database.writing() as session:
        claim = claims.claim_objects(session, job_id, worker="w", lease=lease, max_bytes=max_bytes)
    assert claim is not None, "nothing to claim"
    return claim


def _renew(database: Database, claim: Claim) -> None:
    with database.writing() as session:
        claims.renew(session, claim, lease=LEASE, progress=dict.fromkeys(claim.indices, 1))


def _finish(database: Database, claim: Claim) -> None:
    with database.writing() as session:
        claims.require(session, claim)
        session.execute(
            update(ObjectRow)
            .where(ObjectRow.job_id == claim.job_id, ObjectRow.index.in_(claim.indices))
            .values(state=ObjectState.ENCODED, claim_id=None)
        )
        claims.end(session, claim)


def _expire(database: Database, job_id: UUID) -> bool:
    with database.writing() as session:
        return claims.expire(session, job_id) is not None


def _waiting(database: Database) -> UUID | None:
    with database.reading() as session:
        return claims.waiting_job(session)
