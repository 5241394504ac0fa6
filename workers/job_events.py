"""Events of jobs: rows that are written in the transactions of what they tell.

The numbers of one job's events are given out under the lock of its row, so they grow in the order of commits: whoever
has seen one has seen, or skipped, all that came before it. Progress is told by its newest event only, and of all events
of a job the last KEPT numbers stay, which bounds the table whatever a job does.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, insert
from sqlalchemy.orm import Session

from schemas.interface import Answer, ObjectsEvent, StateEvent
from schemas.problems import Problem
from schemas.states import EventKind, JobState, ObjectState
from schemas.tables import EventRow, JobRow
from workers.job_progress import progress_of
from workers.progress_samples import keep_sample

KEPT = 1000
"""Whoever is further behind has to begin with what the job is now."""


def record_state(session: Session, job: JobRow) -> None:
    """Tells the state that a locked job has come to, and with what error."""
    record_states(session, [job])


def record_states(session: Session, jobs: Sequence[JobRow]) -> None:
    """Tells the states of several locked jobs."""
    _record(session, [(job, EventKind.STATE, _state_event(job)) for job in jobs])


def record_progress(session: Session, job: JobRow) -> None:
    """Tells the progress of a locked job instead of what was told of it before."""
    session.execute(delete(EventRow).where(EventRow.job_id == job.id, EventRow.kind == EventKind.PROGRESS))
    progress = progress_of(session, [job])[job.id]
    job.furthest = progress.fraction
    if job.state is not JobState.PLANNING:  # what is fetched is no payload
        keep_sample(session, job, progress.bytes_done)
    _record(session, [(job, EventKind.PROGRESS, progress)])


def record_objects(session: Session, job: JobRow, state: ObjectState, indices: Sequence[int]) -> None:
    """Tells that objects of a locked job are encoded or verified."""
    _record(session, [(job, EventKind.OBJECT, ObjectsEvent(state=state, indices=tuple(indices)))])


def _state_event(job: JobRow) -> StateEvent:
    error = None if job.error is None else Problem.model_validate(job.error)
    return StateEvent(state=job.state, error=error)


def _record(session: Session, told: Sequence[tuple[JobRow, EventKind, Answer]]) -> None:
    rows = []
    for job, kind, data in told:
        job.last_event += 1
        rows.append({"job_id": job.id, "number": job.last_event, "kind": kind, "data": data.model_dump(mode="json")})
    session.execute(insert(EventRow), rows)
    for job, _, _ in told:
        if job.last_event > KEPT:
            session.execute(delete(EventRow).where(EventRow.job_id == job.id, EventRow.number <= job.last_event - KEPT))
