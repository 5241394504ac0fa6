"""Who holds a claim on what."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from schemas.states import Stage
from schemas.tables.base import Base
from schemas.tables.column_types import BIG_INTEGER


class ClaimRow(Base):
    """A worker's lease on the planning or verifying of a job, or on the objects that carry the claim's id.

    Ids only ever grow, so they serve as fencing tokens: whoever records a result must still hold the row.
    """

    __tablename__ = "claims"

    id: Mapped[int] = mapped_column(BIG_INTEGER, primary_key=True, autoincrement=True)
    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    stage: Mapped[Stage]
    worker: Mapped[str] = mapped_column(Text)
    expires_at: Mapped[datetime]

    __table_args__ = (
        Index(None, "job_id"),
        Index(None, "expires_at"),
        Index(
            "ix_claims_one_planner_or_verifier",
            "job_id",
            unique=True,
            sqlite_where=text("stage <> 'encoding'"),
            postgresql_where=text("stage <> 'encoding'"),
        ),
        {"sqlite_autoincrement": True},
    )
