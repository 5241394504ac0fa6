"""How far jobs are in their present state, from the rows of their objects."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import ColumnElement, and_, case, func, select
from sqlalchemy.orm import Session

from schemas.interface import Progress
from schemas.states import JobState, ObjectState
from schemas.tables import JobRow, ObjectRow
from workers.database import database_time


def progress_of(session: Session, jobs: Sequence[JobRow]) -> dict[UUID, Progress]:
    """The progress of each job. Of what is ready all is done, so that lists of many jobs count the objects of few."""
    planned = [job.id for job in jobs if job.objects_total is not None and job.state is not JobState.READY]
    done = _done(session, planned) if planned else {}
    # Asking PostgreSQL takes a round trip, and only rates need it.
    now = database_time(session) if any(job.state in _AT_WORK for job in jobs) else datetime.now(UTC)
    done |= {job.id: (job.objects_total or 0, job.payload_bytes or 0) for job in jobs if job.state is JobState.READY}
    return {job.id: _progress(job, done.get(job.id, (0, 0)), now) for job in jobs}


_AT_WORK = (JobState.PLANNING, JobState.CONVERTING, JobState.VERIFYING)

_ENCODING_SHARE = 0.5
"""Of a whole job: verifying goes through the same words once more."""


def _fraction(job: JobRow, bytes_done: int) -> float:
    """The share of a job that is done; never less than it was once told to be."""
    done = bytes_done / job.payload_bytes if job.payload_bytes else 0.0
    if job.state is JobState.CONVERTING:
        now = _ENCODING_SHARE * done
    elif job.state is JobState.VERIFYING:
        now = _ENCODING_SHARE + (1 - _ENCODING_SHARE) * done
    else:
        now = float(job.state is JobState.READY)
    return max(now, job.furthest)


def _done(session: Session, jobs: Sequence[UUID]) -> dict[UUID, tuple[int, int]]:
    """Objects and payload bytes done of each of these jobs that has objects."""
    rows = session.execute(
        select(ObjectRow.job_id, func.sum(case((_is_done(), 1), else_=0)), func.sum(ObjectRow.bytes_done))
        .where(ObjectRow.job_id.in_(jobs))
        .group_by(ObjectRow.job_id)
    )
    return {job_id: (int(objects), int(payload_bytes)) for job_id, objects, payload_bytes in rows}


def _is_done() -> ColumnElement[bool]:
    undone = (ObjectState.PENDING, ObjectState.ENCODING)
    return and_(ObjectRow.state.not_in(undone), ObjectRow.bytes_done == ObjectRow.bytes)


def _progress(job: JobRow, done: tuple[int, int], now: datetime) -> Progress:
    objects_done, bytes_done = done
    bytes_total = job.payload_bytes
    if job.state is JobState.PLANNING and job.fetch_bytes is not None:
        bytes_done, bytes_total = job.fetched_bytes or 0, job.fetch_bytes
    rate = None
    if job.state in _AT_WORK and job.stage_started_at is not None and bytes_done:
        rate = bytes_done / max((now - job.stage_started_at).total_seconds(), 1e-3)
    return Progress(
        objects_done=objects_done,
        objects_total=job.objects_total,
        bytes_done=bytes_done,
        bytes_total=bytes_total,
        bytes_per_second=rate,
        seconds_left=None if rate is None or bytes_total is None else (bytes_total - bytes_done) / rate,
        fraction=_fraction(job, bytes_done),
    )
