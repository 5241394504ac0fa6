"""What the webhook is still to be told."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from schemas.tables.base import Base


class WebhookEventRow(Base):
    """That a job has ended, to be told to the webhook: there until a receiver has taken it, or for a day. It outlives
    the job."""

    __tablename__ = "webhook_events"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    job_id: Mapped[UUID]
    body: Mapped[str] = mapped_column(Text)
    """The job as it was then, as it is sent."""
    created_at: Mapped[datetime]
    due_at: Mapped[datetime]
    """When it is to be sent next; later than now while one process is sending it."""
    attempts: Mapped[int] = mapped_column(default=0)

    __table_args__ = (Index(None, "due_at"),)
