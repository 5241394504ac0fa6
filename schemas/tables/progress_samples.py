"""How far jobs were at moments."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from schemas.states import JobState
from schemas.tables.base import Base
from schemas.tables.column_types import BIG_INTEGER


class ProgressSampleRow(Base):
    """Payload bytes that a job had gone through in a state at a moment: what throughput over time is drawn from."""

    __tablename__ = "progress_samples"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    at: Mapped[datetime] = mapped_column(primary_key=True)
    state: Mapped[JobState]
    bytes_done: Mapped[int] = mapped_column(BIG_INTEGER)
