"""How jobs ended that were tried again."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import JSON, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from schemas.states import JobState
from schemas.tables.base import Base


class AttemptRow(Base):
    """How a job ended before it was tried again; `number` counts from 0."""

    __tablename__ = "job_attempts"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    state: Mapped[JobState]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    error: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
