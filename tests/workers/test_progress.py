"""A job's share never falls, and its samples over time stay few, on both databases."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from sqlalchemy import delete, func, select

from schemas.states import JobState
from schemas.tables import JobRow, ObjectRow, ProgressSampleRow
from tests.job_rows import add_job
from workers import claims, job_endings
from workers.claims import Claim
from workers.database import Database, database_time
from workers.job_document import job_document
from workers.job_progress import progress_of
from workers.progress_samples import keep_sample

OVER = timedelta(seconds=-1)
SIZES = [600, 400]


def add_planned_job(database: Database, state: JobState) -> UUID:
    job_id = add_job(database, state, SIZES)
    with database.writing() as session:
        job = session.get_one(JobRow, job_id)
        job.payload_bytes, job.objects_total = sum(SIZES), len(SIZES)
        job.started_at = job.stage_started_at = database_time(session)
    return job_id


def claim_and_tell(database: Database, job_id: UUID, done: dict[int, int], lease: timedelta = OVER) -> Claim:
    """A claim on all objects, whose worker tells the payload bytes that it has done of some."""
    with database.writing() as session:
        claim = claims.claim_objects(session, job_id, worker="w", lease=lease, max_bytes=1 << 40)
        assert claim is not None
        claims.renew(session, claim, lease=lease, progress=done)
    return claim


def fraction(database: Database, job_id: UUID) -> float:
    with database.reading() as session:
        return job_document(session, session.get_one(JobRow, job_id)).progress.fraction


def test_encoding_is_the_first_half(database: Database) -> None:
    job_id = add_planned_job(database, JobState.CONVERTING)
    assert fraction(database, job_id) == 0
    claim_and_tell(database, job_id, {0: 300, 1: 100})
    assert fraction(database, job_id) == 0.2


def test_a_ready_job_is_whole_without_its_objects_being_counted(database: Database) -> None:
    job_id = add_planned_job(database, JobState.CONVERTING)
    with database.writing() as session:
        session.execute(delete(ObjectRow).where(ObjectRow.job_id == job_id))
        job = session.get_one(JobRow, job_id)
        job.state = JobState.READY
        progress = progress_of(session, [job])[job_id]
    assert (progress.objects_done, progress.bytes_done, progress.fraction) == (len(SIZES), sum(SIZES), 1)


def test_a_lost_worker_s_share_is_not_taken_back(database: Database) -> None:
    job_id = add_planned_job(database, JobState.CONVERTING)
    claim_and_tell(database, job_id, {0: 600, 1: 200})
    with database.writing() as session:
        claims.expire(session, job_id)
    with database.reading() as session:
        progress = job_document(session, session.get_one(JobRow, job_id)).progress
    assert (progress.bytes_done, progress.fraction) == (0, 0.4)
    claim_and_tell(database, job_id, {0: 100})
    assert fraction(database, job_id) == 0.4
    with database.writing() as session:
        claims.expire(session, job_id)
    claim_and_tell(database, job_id, {0: 600, 1: 300})
    assert fraction(database, job_id) == 0.45


def test_a_job_that_failed_stays_where_it_was_and_begins_anew_when_tried_again(database: Database) -> None:
    job_id = add_planned_job(database, JobState.CONVERTING)
    claim_and_tell(database, job_id, {0: 600})
    with database.writing() as session:
        job_endings.cancel(session, session.get_one(JobRow, job_id))
    assert fraction(database, job_id) == 0.3
    with database.writing() as session:
        job_endings.retry(session, session.get_one(JobRow, job_id))
    assert fraction(database, job_id) == 0
    with database.reading() as session:
        assert session.scalar(select(func.count()).where(ProgressSampleRow.job_id == job_id)) == 0


def test_samples_lie_a_second_apart_and_further_in_long_jobs(database: Database) -> None:
    job_id = add_planned_job(database, JobState.CONVERTING)
    for seconds_ago, begun_ago, is_kept in ((0.5, 10, False), (1.5, 10, True), (5, 1000, False), (11, 1000, True)):
        with database.writing() as session:
            session.query(ProgressSampleRow).delete()
            job, now = session.get_one(JobRow, job_id), database_time(session)
            job.started_at = now - timedelta(seconds=begun_ago)
            before = now - timedelta(seconds=seconds_ago)
            session.add(ProgressSampleRow(job_id=job_id, at=before, state=job.state, bytes_done=1))
            session.flush()
            keep_sample(session, job, 2)
            session.flush()
            kept = list(session.scalars(select(ProgressSampleRow.bytes_done).order_by(ProgressSampleRow.at)))
        assert kept == ([1, 2] if is_kept else [1]), (seconds_ago, begun_ago)
