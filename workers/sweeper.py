"""Sees to what nobody else will: expired claims, and jobs that no message speaks of (design.md, Jobs)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from http import HTTPStatus
from uuid import UUID

from schemas.problems import problem
from workers import claims, job_endings, webhook_events
from workers.database import Database
from workers.devices import JOB_DEVICES
from workers.logs import logging_with
from workers.storage import Storage

logger = logging.getLogger(__name__)

MAX_LOST_CLAIMS = 10
"""Claims that may expire in a row without any progress of their job, before it is given up."""


def sweep(
    database: Database,
    storage: Storage,
    devices: Sequence[str] = JOB_DEVICES,
    retention: timedelta | None = None,
) -> UUID | None:
    """Undoes expired claims, fails the jobs whose workers keep dying, and removes work files that nobody needs and jobs
    that ended longer ago than `retention`.

    Returns the oldest job that waits for a worker, of those that ask for one of these devices.
    """
    with database.reading() as session:
        expired = claims.jobs_with_expired_claims(session)
    for job_id in expired:
        with logging_with(job_id=str(job_id)):
            _undo_expired(database, storage, job_id)
    for job_id in sorted(job_endings.orphaned_work(database, storage)):
        job_endings.discard_orphaned_work(database, storage, job_id)
    with database.writing() as session:
        webhook_events.give_up(session)
    if retention is not None:
        job_endings.remove_outlived(database, storage, retention)
    with database.reading() as session:
        return claims.waiting_job(session, devices)


def _undo_expired(database: Database, storage: Storage, job_id: UUID) -> None:
    with database.writing() as session:
        job = claims.expire(session, job_id)
        if job is None:
            return
        logger.warning("job %s: a worker gave no sign of life in time; its work is free again", job_id)
        leftovers = None
        if job.lost_claims >= MAX_LOST_CLAIMS:
            detail = f"{job.lost_claims} workers in a row ended while at this job, without any progress of it."
            leftovers = job_endings.fail(
                session, job, problem("worker-lost", HTTPStatus.INTERNAL_SERVER_ERROR, "Workers were lost", detail)
            )
    if leftovers is not None:
        job_endings.discard(database, storage, leftovers)
