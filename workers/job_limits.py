"""How many jobs may wait or be under way at once, of each token."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from schemas.errors import TooManyJobsError
from schemas.states import ACTIVE_STATES
from schemas.tables import JobRow
from workers.database import hold_advisory_lock

_LOCK = 0x6E6A6F62
"""Keeps these locks apart from others of the database."""


def admit(session: Session, jobs: Sequence[JobRow], token: str, limit: int) -> None:
    """Notes that a token, by its name, has queued jobs in this transaction, and may then have `limit` active jobs. They
    are active by now.

    Transactions that queue jobs of one token follow one another, so none of them counts too few. Raises
    TooManyJobsError.
    """
    hold_advisory_lock(session, _LOCK, int.from_bytes(sha256(token.encode()).digest()[:4], signed=True))
    for job in jobs:
        if job.queued_by != token:  # what is set counts as changed, and all that is changed is gone through again
            job.queued_by = token
    active = select(func.count()).where(JobRow.queued_by == token, JobRow.state.in_(ACTIVE_STATES))
    count = session.scalar(active) or 0
    if count > limit:
        owner = f"of the token {token} " if token else ""
        raise TooManyJobsError(
            "jobs", expected=f"at most {limit} {owner}that are not finished", found=f"{count - len(jobs)} already"
        )
