"""What happened to jobs, as it is told to those who watch them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import JSON, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from schemas.states import EventKind
from schemas.tables.base import Base


class EventRow(Base):
    """Something that happened to a job. Numbers begin at 1; some are missing, for newer events replace older ones."""

    __tablename__ = "job_events"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    kind: Mapped[EventKind]
    data: Mapped[dict[str, Any]] = mapped_column(JSON)

    __table_args__ = (
        Index(
            "ix_job_events_one_progress",
            "job_id",
            unique=True,
            sqlite_where=text("kind = 'progress'"),
            postgresql_where=text("kind = 'progress'"),
        ),
    )
