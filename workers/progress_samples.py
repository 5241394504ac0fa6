"""Samples of a job's progress over time, few enough to keep for good."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from schemas.tables import JobRow, ProgressSampleRow
from workers.database import database_time

_SHARE = 1 / 100
"""Samples lie at least this share of the time since the job began apart, so that their number grows with the
logarithm of its length: 100 for the first 100 seconds, some 700 for ten hours."""


def keep_sample(session: Session, job: JobRow, bytes_done: int) -> None:
    """Keeps how many payload bytes a locked job has gone through in its state, unless the last sample is too near."""
    now = database_time(session)
    last = session.scalar(select(func.max(ProgressSampleRow.at)).where(ProgressSampleRow.job_id == job.id))
    if last is not None:
        elapsed = now - (job.started_at or last)
        if now - last < max(elapsed * _SHARE, timedelta(seconds=1)):
            return
    session.add(ProgressSampleRow(job_id=job.id, at=now, state=job.state, bytes_done=bytes_done))
