"""The objects of jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import JSON, ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from schemas.states import ObjectState
from schemas.tables.base import Base
from schemas.tables.column_types import BIG_INTEGER, HEX_DIGEST


class ObjectRow(Base):
    """One object of a planned job, with what encoding and verifying it left behind."""

    __tablename__ = "objects"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    index: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(Text)
    kind: Mapped[str] = mapped_column(String(16))
    shape: Mapped[list[int] | None] = mapped_column(JSON(none_as_null=True))
    format: Mapped[str | None] = mapped_column(Text)
    layout: Mapped[str] = mapped_column(Text)
    offset: Mapped[int] = mapped_column(BIG_INTEGER)
    bytes: Mapped[int] = mapped_column(BIG_INTEGER)
    expression: Mapped[str | None] = mapped_column(Text)
    state: Mapped[ObjectState]
    claim_id: Mapped[int | None] = mapped_column(ForeignKey("claims.id"))
    bytes_done: Mapped[int] = mapped_column(BIG_INTEGER, default=0)
    """Payload bytes gone through in the job's present stage, for progress only."""
    encoder: Mapped[str | None] = mapped_column(Text)
    backend: Mapped[str | None] = mapped_column(Text)
    worker: Mapped[str | None] = mapped_column(Text)
    blocks: Mapped[int | None]
    seconds: Mapped[float | None]
    encoded_at: Mapped[datetime | None]
    payload_blake3: Mapped[str | None] = mapped_column(HEX_DIGEST)
    reciprocals: Mapped[list[Any]] = mapped_column(JSON, default=list)
    error: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    source_rms: Mapped[float | None]
    """RMS of what a lossy object was made of, over the same elements as `error`."""

    __table_args__ = (Index(None, "job_id", "state", "bytes"), Index(None, "claim_id"))
