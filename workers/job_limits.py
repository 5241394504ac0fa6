"""How many jobs may wait or be under way at once, of each token."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from schemas.errors import TooManyJobsError
from schemas.states import ACTIVE_STATES
from schemas.tables import JobRow

_LOCK = 0x6E6A6F62
"""Keeps these locks apart from others of the database."""


def admit(session: Session, jobs: Sequence[JobRow], token: str, limit: int) -> None:
    """Notes that a token, by its name, has queued jobs in this transaction, which may then have `limit` active jobs.

    Transactions that queue jobs of one token follow one another, so none of them counts too few. Raises
    TooManyJobsError.
    """
    if session.get_bind().dialect.name == "postgresql":  # SQLite has one writing transaction at a time anyway
        key = int.from_bytes(sha256(token.encode()).digest()[:4], signed=True)
        session.execute(select(func.pg_advisory_xact_lock(_LOCK, key)))
    active = select(func.count()).where(JobRow.queued_by == token, JobRow.state.in_(ACTIVE_STATES))
    others = session.scalar(active.where(JobRow.id.not_in([job.id for job in jobs]))) or 0
    if others + len(jobs) > limit:
        owner = f"of the token {token} " if token else ""
        raise TooManyJobsError(
            "jobs", expected=f"at most {limit} {owner}that are not finished", found=f"{others} already"
        )
    for job in jobs:
        job.queued_by = token
