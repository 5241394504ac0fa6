"""The outbox of the webhook: that a job has ended is written down in the transaction that ends it, and stays until a
receiver has taken it.

A row is taken by putting off when it is due, so that no transaction is open while it is sent, and that a process which
dies meanwhile costs no more than the wait for the next attempt. A receiver may therefore get one event twice.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from schemas.tables import JobRow, WebhookEventRow
from workers.database import database_time
from workers.identifiers import time_ordered_id
from workers.job_document import job_document

logger = logging.getLogger(__name__)

PATIENCE = timedelta(days=1)
"""How long an event is kept for a receiver that does not take it."""

FIRST_DELAY = timedelta(seconds=20)
"""Until the second attempt; each delay is twice the one before."""

LONGEST_DELAY = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """An event that was taken to be sent: `body` is the job as it was when it ended, in JSON."""

    id: UUID
    job_id: UUID
    body: str


def record(session: Session, job: JobRow) -> None:
    """Writes down that a locked job has ended."""
    now = database_time(session)
    body = job_document(session, job).model_dump_json()
    session.add(WebhookEventRow(id=time_ordered_id(), job_id=job.id, body=body, created_at=now, due_at=now))


def take(session: Session) -> WebhookEvent | None:
    """The event that is due for the longest time. For a while nobody else takes it."""
    now = database_time(session)
    row = session.scalar(
        select(WebhookEventRow)
        .where(WebhookEventRow.due_at <= now)
        .order_by(WebhookEventRow.due_at, WebhookEventRow.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    if row is None:
        return None
    row.due_at = now + min(FIRST_DELAY * 2 ** min(row.attempts, 16), LONGEST_DELAY)
    row.attempts += 1
    return WebhookEvent(row.id, row.job_id, row.body)


def settle(session: Session, event: WebhookEvent) -> None:
    """Forgets an event that a receiver has taken."""
    session.execute(delete(WebhookEventRow).where(WebhookEventRow.id == event.id))


def give_up(session: Session) -> None:
    """Forgets events of long ago, but for those that somebody else is at."""
    long_ago = WebhookEventRow.created_at < database_time(session) - PATIENCE
    old = select(WebhookEventRow.id).where(long_ago).with_for_update(skip_locked=True)
    forgetting = delete(WebhookEventRow).where(WebhookEventRow.id.in_(old))
    for job_id, attempts in session.execute(forgetting.returning(WebhookEventRow.job_id, WebhookEventRow.attempts)):
        if attempts:
            logger.warning("job %s: the webhook did not take its end, told %d times", job_id, attempts)
