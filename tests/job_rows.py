"""Rows of jobs, objects and workers for tests of what happens to them, without any recipe or file behind them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import select

from schemas.states import JobState, ObjectState
from schemas.tables import JobRow, ObjectRow, WorkerRow
from workers.database import Database
from workers.identifiers import time_ordered_id


def job_row(state: JobState = JobState.QUEUED) -> JobRow:
    """A job as it is when submitted, or as if moved to another state."""
    return JobRow(
        id=time_ordered_id(),
        name="acme",
        state=state,
        recipe_id="acme",
        recipe_revision=1,
        recipe_sha256="0" * 64,
        let={},
        sources={},
        resources={},
        verify="full",
        device="auto",
        created_at=datetime.now(UTC),
        lost_claims=0,
    )


def add_job(database: Database, state: JobState = JobState.QUEUED, sizes: Sequence[int] = ()) -> UUID:
    """A job with one pending object of each size."""
    with database.writing() as session:
        job = job_row(state)
        session.add(job)
        session.flush()
        session.add_all(
            ObjectRow(
                job_id=job.id,
                index=index,
                name=f"object-{index}",
                kind="tensor",
                shape=[size],
                format="BF16",
                layout="contiguous-le-v1",
                offset=0,
                bytes=size,
                state=ObjectState.PENDING,
            )
            for index, size in enumerate(sizes)
        )
        return job.id


def job_state(database: Database, job_id: UUID) -> JobState:
    with database.reading() as session:
        return session.get_one(JobRow, job_id).state


def object_states(database: Database, job_id: UUID) -> list[ObjectState]:
    with database.reading() as session:
        query = select(ObjectRow.state).where(ObjectRow.job_id == job_id).order_by(ObjectRow.index)
        return list(session.scalars(query))


def worker_row(name: str, **members: Any) -> WorkerRow:
    """A worker that is alive for a while, or as `members` say."""
    now = datetime.now(UTC)
    usual = {
        "host": "host",
        "pid": 1,
        "device": "cpu",
        "threads": 2,
        "version": "1",
        "started_at": now,
        "heartbeat_at": now,
        "expires_at": now + timedelta(minutes=1),
    }
    return WorkerRow(name=name, **{**usual, **members})
