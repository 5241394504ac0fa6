"""How jobs end other than well, begin anew and are removed, and what goes from the disk with that (design.md, Jobs).

What a job leaves behind is removed after the transaction that ended it. Until then, and where a process is killed
between the two, files lie there that nothing refers to: work files go with the next sweep.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, and_, delete, select, union
from sqlalchemy.orm import Session

from schemas.errors import JobStateError
from schemas.problems import Problem
from schemas.states import ACTIVE_STATES, JobState
from schemas.tables import ArtifactPartRow, AttemptRow, JobRow, ObjectRow, ProgressSampleRow, SourceTensorRow
from workers import claims, job_events, recipe_records
from workers.claims import Claim
from workers.database import Database, database_time, few_at_a_time, hold_advisory_lock
from workers.storage import Storage

logger = logging.getLogger(__name__)

FINAL_STATES = tuple(state for state in JobState if state not in ACTIVE_STATES)
RETRYABLE_STATES = (JobState.FAILED, JobState.CANCELLED)
_REMOVED_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What lies on disk of a job that has ended: sets of work files whose numbers are below `fence`, and the files of
    the store that the job referred to."""

    job_id: UUID
    fence: int
    sha256: tuple[str, ...]


def cancel(session: Session, job: JobRow) -> Leftovers:
    """Ends a locked job that has work to do. Its workers stop at their next block after their next sign of life.

    Raises JobStateError.
    """
    _require_state(job, ACTIVE_STATES)
    return _end(session, job, JobState.CANCELLED)


def record_failure(session: Session, claim: Claim, problem: Problem) -> Leftovers:
    """Ends the job of a claim that is still held in failure, and with it every other claim on the job.

    Raises ClaimLostError.
    """
    return fail(session, claims.require(session, claim), problem)


def fail(session: Session, job: JobRow, problem: Problem) -> Leftovers:
    """Ends a locked job in failure."""
    job.error = problem.model_dump(mode="json", exclude_none=True)
    return _end(session, job, JobState.FAILED)


def retry(session: Session, job: JobRow) -> None:
    """Queues a locked job that failed or was cancelled once more; how it ended is kept among its attempts.

    Raises JobStateError.
    """
    _require_state(job, RETRYABLE_STATES)
    job.attempts.append(
        AttemptRow(
            number=len(job.attempts),
            state=job.state,
            started_at=job.started_at,
            finished_at=job.finished_at,
            error=job.error,
        )
    )
    for table in (ObjectRow, SourceTensorRow, ProgressSampleRow):
        session.execute(delete(table).where(table.job_id == job.id))
    job.furthest = 0.0
    job.state = JobState.QUEUED
    job.started_at = job.stage_started_at = job.finished_at = None
    job.fingerprint = job.execution = job.error = job.work_files = None
    job.objects_total = job.payload_bytes = job.file_bytes = None
    job.fetch_bytes = job.fetched_bytes = None
    job_events.record_state(session, job)


def remove(session: Session, job: JobRow) -> Leftovers:
    """Removes a locked job that has ended and is not pinned. Raises JobStateError."""
    _require_state(job, FINAL_STATES)
    if job.pinned:
        raise JobStateError(f"job {job.id}", expected="one that is not pinned", found="it is pinned")
    leftovers = Leftovers(job.id, claims.revoke_all(session, job), _stored_files(job))
    document = job.recipe_document_sha256
    with recipe_records.giving_up_documents(session, () if document is None else (document,)):
        session.delete(job)
    return leftovers


def remove_outlived(database: Database, storage: Storage, age: timedelta) -> None:
    """Removes jobs that ended longer ago than this and are not pinned, with their artifacts; some at a time."""
    with database.reading() as session:
        outlived = _outlived(session, age)
        found = session.scalars(select(JobRow.id).where(outlived).order_by(JobRow.finished_at).limit(_REMOVED_AT_ONCE))
        job_ids = list(found)
    for job_id in job_ids:
        with database.writing() as session:
            # Once more, under its lock: it may have been pinned, or tried again, meanwhile.
            job = session.scalar(select(JobRow).where(JobRow.id == job_id, _outlived(session, age)).with_for_update())
            if job is None:
                continue
            leftovers = remove(session, job)
        discard(database, storage, leftovers)
        logger.info("job %s ended more than %s ago and is removed", job_id, age)


def discard(database: Database, storage: Storage, leftovers: Leftovers) -> None:
    """Removes from the disk what a job left that has ended, outside of any transaction."""
    storage.discard_superseded(leftovers.job_id, leftovers.fence)
    discard_unreferenced(database, storage, leftovers.sha256)


def discard_unreferenced(database: Database, storage: Storage, sha256: Iterable[str]) -> None:
    """Removes those files of the store that no job has for its artifact and no active one reads."""
    for digest in sorted(set(sha256)):
        with database.writing() as session:
            hold_stored_files(session, [digest])
            if not _referenced(session, [digest]):
                storage.remove_artifact(digest)


def unreferenced(database: Database, sha256: Iterable[str]) -> set[str]:
    """Those files of the store that no job has for its artifact and no active one reads, at this moment."""
    left = set(sha256)
    with database.reading() as session:
        for few in few_at_a_time(sorted(left)):
            left -= _referenced(session, few)
    return left


def hold_stored_files(session: Session, sha256: Sequence[str]) -> None:
    """Keeps others from removing these files of the store until the transaction ends, as whoever comes to refer to
    them has to. SQLite has one writing transaction at a time anyway."""
    for digest in sorted(set(sha256)):
        hold_advisory_lock(session, int.from_bytes(bytes.fromhex(digest)[:8], signed=True))


def orphaned_work(database: Database, storage: Storage) -> set[UUID]:
    """The jobs that have ended or are not there, and of which there are work files: a process left them that was
    killed."""
    folders = storage.jobs_with_work()
    if not folders:
        return set()
    with database.reading() as session:
        active = session.scalars(select(JobRow.id).where(JobRow.id.in_(folders), JobRow.state.in_(ACTIVE_STATES)))
        return folders - set(active)


def discard_orphaned_work(database: Database, storage: Storage, job_id: UUID) -> None:
    """Removes the work files of a job, unless it is at work again."""
    with database.writing() as session:
        job = claims.locked_job(session, job_id)
        if job is not None and job.state in ACTIVE_STATES:
            return
        fence = None if job is None else claims.revoke_all(session, job)
    if fence is None:
        storage.discard_work(job_id)
    else:
        storage.discard_superseded(job_id, fence)


def _end(session: Session, job: JobRow, state: JobState) -> Leftovers:
    leftovers = Leftovers(job.id, claims.revoke_all(session, job), _stored_files(job))
    job.parts = []
    job.report_head = None
    claims.enter_state(session, job, state)
    return leftovers


def _require_state(job: JobRow, states: Sequence[JobState]) -> None:
    if job.state not in states:
        raise JobStateError(f"job {job.id}", expected=f"one that is {', '.join(states)}", found=f"it {job.state}")


def _outlived(session: Session, age: timedelta) -> ColumnElement[bool]:
    old = JobRow.finished_at < database_time(session) - age
    return and_(JobRow.state.in_(FINAL_STATES), old, ~JobRow.pinned)


def _stored_files(job: JobRow) -> tuple[str, ...]:
    """SHA-256 of the files of the store that a job makes or reads."""
    read = None if job.upgrade is None else job.upgrade["stored_sha256"]
    return (*(part.sha256 for part in job.parts), *(() if read is None else (read,)))


def _referenced(session: Session, sha256: Sequence[str]) -> set[str]:
    """Those of a few files of the store that a job has for its artifact, or an active one reads."""
    read = JobRow.upgrade["stored_sha256"].as_string()
    made = select(ArtifactPartRow.sha256).where(ArtifactPartRow.sha256.in_(sha256))
    return set(session.scalars(union(made, select(read).where(JobRow.state.in_(ACTIVE_STATES), read.in_(sha256)))))
