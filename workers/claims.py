"""Leases on work: who plans, encodes or verifies what, until when (design.md, Jobs).

A claim is a row. It is taken by compare-and-set inside one transaction, kept alive by renewing, and required again in
the transaction that records its results, so that a worker whose claim expired can record nothing. Its id only ever
grows and is the fencing token. Every function locks the job's row before anything else of the job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import accumulate
from uuid import UUID

from sqlalchemy import ColumnElement, and_, delete, exists, or_, select, update
from sqlalchemy.orm import Session

from schemas.states import ACTIVE_STATES, JobState, ObjectState, Stage
from schemas.tables import ClaimRow, JobRow, ObjectRow
from workers import job_events, webhook_events
from workers.database import database_time
from workers.devices import JOB_DEVICES

MAX_OBJECTS = 128
"""Most objects of one claim, whatever their size."""

_STAGE_STATES: Mapping[Stage, tuple[JobState, ...]] = {
    Stage.PLANNING: (JobState.QUEUED, JobState.PLANNING),
    Stage.VERIFYING: (JobState.CONVERTING, JobState.VERIFYING),
}


class ClaimLostError(Exception):
    """The claim is no longer held: it expired, or its job has ended. Nothing may be recorded under it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that was taken, with the indices of its objects, largest first, where it is one for encoding, and the set
    of work files that the job had then, once it is planned."""

    id: int
    job_id: UUID
    stage: Stage
    indices: tuple[int, ...] = ()
    work_files: str | None = None


def locked_job(session: Session, job_id: UUID) -> JobRow | None:
    """The job's row, locked against other writers until the transaction ends; None if there is none."""
    return session.scalar(select(JobRow).where(JobRow.id == job_id).with_for_update())


def claim_job(session: Session, job_id: UUID, stage: Stage, *, worker: str, lease: timedelta) -> Claim | None:
    """Claims the planning or verifying of a whole job and moves the job into that state.

    None if the job is not due for it or another worker is at it. Verifying is due when every object is encoded.
    """
    job = locked_job(session, job_id)
    if job is None or job.state not in _STAGE_STATES[stage] or session.scalar(select(_claimed(job_id))):
        return None
    if stage is Stage.VERIFYING and session.scalar(select(_unencoded(job_id))):
        return None
    claim = _insert(session, job, stage, worker, lease)
    state = JobState.PLANNING if stage is Stage.PLANNING else JobState.VERIFYING
    if job.state is not state:
        enter_state(session, job, state)
    return claim


def claim_objects(session: Session, job_id: UUID, *, worker: str, lease: timedelta, max_bytes: int) -> Claim | None:
    """Claims pending objects of a converting job, largest first, up to `max_bytes` of payload but at least one.

    None if none is pending. Workers that ask at the same time get different objects.
    """
    job = locked_job(session, job_id)
    if job is None or job.state is not JobState.CONVERTING:
        return None
    pending = session.execute(
        select(ObjectRow.index, ObjectRow.bytes)
        .where(ObjectRow.job_id == job_id, ObjectRow.state == ObjectState.PENDING)
        .order_by(ObjectRow.bytes.desc(), ObjectRow.index)
        .limit(MAX_OBJECTS)
    ).all()
    if not pending:
        return None
    totals = accumulate(size for _, size in pending)
    fitting = tuple(index for (index, _), total in zip(pending, totals, strict=True) if total <= max_bytes)
    indices = fitting or (pending[0][0],)
    claim = _insert(session, job, Stage.ENCODING, worker, lease)
    session.execute(
        update(ObjectRow)
        .where(ObjectRow.job_id == job_id, ObjectRow.index.in_(indices))
        .values(state=ObjectState.ENCODING, claim_id=claim.id, bytes_done=0)
    )
    return replace(claim, indices=indices)


def renew(session: Session, claim: Claim, *, lease: timedelta, progress: Mapping[int, int]) -> None:
    """Prolongs the claim and notes payload bytes done of the job's objects by index.

    Raises ClaimLostError.
    """
    job = locked_job(session, claim.job_id) if progress else None
    prolonged = session.execute(
        update(ClaimRow)
        .where(ClaimRow.id == claim.id)
        .values(expires_at=database_time(session) + lease)
        .returning(ClaimRow.id)
    ).all()
    if not prolonged:
        raise ClaimLostError
    if progress:
        session.execute(
            update(ObjectRow),
            [{"job_id": claim.job_id, "index": index, "bytes_done": done} for index, done in progress.items()],
        )
    if job is not None:
        job_events.record_progress(session, job)


def require(session: Session, claim: Claim) -> JobRow:
    """The job of a claim that is still held, for a transaction that records what was done under it.

    Raises ClaimLostError.
    """
    job = locked_job(session, claim.job_id)
    held = session.scalar(select(ClaimRow.id).where(ClaimRow.id == claim.id).with_for_update())
    if job is None or held is None:
        raise ClaimLostError
    return job


def end(session: Session, claim: Claim) -> None:
    """Ends a claim whose results have been recorded in this transaction."""
    session.execute(delete(ClaimRow).where(ClaimRow.id == claim.id))


def hand_back(session: Session, claim: Claim) -> None:
    """Gives up a claim with its work undone, as a worker does that is asked to stop. One that is lost is left alone."""
    locked_job(session, claim.job_id)
    _undo(session, ClaimRow.id == claim.id)


def revoke_all(session: Session, job: JobRow) -> int:
    """Ends every claim on a job that has ended: the workers that hold them stop at their next sign of life.

    Returns the id of a claim that nobody holds, greater than those of all claims on the job so far.
    """
    _undo(session, ClaimRow.job_id == job.id)
    fence = _insert(session, job, Stage.ENCODING, "", timedelta())
    end(session, fence)
    return fence.id


def expire(session: Session, job_id: UUID) -> JobRow | None:
    """Undoes the expired claims on a job and counts them in `lost_claims`. The job, if it had any."""
    job = locked_job(session, job_id)
    if job is None:
        return None
    lost = _undo(session, and_(ClaimRow.job_id == job_id, ClaimRow.expires_at < database_time(session)))
    job.lost_claims += lost
    return job if lost else None


def jobs_with_expired_claims(session: Session) -> list[UUID]:
    """Jobs on which a worker gave no sign of life in time."""
    expired = select(ClaimRow.job_id).where(ClaimRow.expires_at < database_time(session)).distinct()
    return list(session.scalars(expired))


def waiting_job(session: Session, devices: Sequence[str] = JOB_DEVICES) -> UUID | None:
    """The oldest job that asks for one of these devices, and in which there is something to claim."""
    claimed = exists().where(ClaimRow.job_id == JobRow.id)
    pending = exists().where(ObjectRow.job_id == JobRow.id, ObjectRow.state == ObjectState.PENDING)
    return session.scalar(
        select(JobRow.id)
        .where(
            JobRow.state.in_(ACTIVE_STATES),
            JobRow.device.in_(devices),
            or_(~claimed, and_(JobRow.state == JobState.CONVERTING, pending)),
        )
        .order_by(JobRow.id)
        .limit(1)
    )


def unattended_job(session: Session, after: UUID, devices: Sequence[str] = JOB_DEVICES) -> UUID | None:
    """A job that asks for one of these devices, has work to do and no claim on it: the next one after another job by
    age, and after the youngest the oldest. Whoever asks again and again comes to each of them."""
    claimed = exists().where(ClaimRow.job_id == JobRow.id)
    return session.scalar(
        select(JobRow.id)
        .where(JobRow.state.in_(ACTIVE_STATES), JobRow.device.in_(devices), ~claimed, JobRow.id != after)
        .order_by((JobRow.id > after).desc(), JobRow.id)
        .limit(1)
    )


def enter_state(session: Session, job: JobRow, state: JobState) -> None:
    """Moves a locked job on, which is progress: times are noted and `lost_claims` begins anew."""
    now = database_time(session)
    job.state = state
    job.stage_started_at = now
    job.lost_claims = 0
    if state in ACTIVE_STATES:
        job.started_at = job.started_at or now
    else:
        job.finished_at = now
        webhook_events.record(session, job)
    job_events.record_state(session, job)


def _insert(session: Session, job: JobRow, stage: Stage, worker: str, lease: timedelta) -> Claim:
    row = ClaimRow(job_id=job.id, stage=stage, worker=worker, expires_at=database_time(session) + lease)
    session.add(row)
    session.flush()
    return Claim(row.id, job.id, stage, work_files=job.work_files)


def _undo(session: Session, which: ColumnElement[bool]) -> int:
    """Deletes claims, their objects pending again. Returns how many there were."""
    ids = list(session.scalars(select(ClaimRow.id).where(which).with_for_update()))
    session.execute(
        update(ObjectRow)
        .where(ObjectRow.claim_id.in_(ids))
        .values(state=ObjectState.PENDING, claim_id=None, bytes_done=0)
    )
    session.execute(delete(ClaimRow).where(ClaimRow.id.in_(ids)))
    return len(ids)


def _claimed(job_id: UUID) -> ColumnElement[bool]:
    return exists().where(ClaimRow.job_id == job_id)


def _unencoded(job_id: UUID) -> ColumnElement[bool]:
    done = (ObjectState.ENCODED, ObjectState.VERIFIED)
    return exists().where(ObjectRow.job_id == job_id, ObjectRow.state.not_in(done))
