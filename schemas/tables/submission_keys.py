"""Keys under which jobs were submitted, so that each is submitted once."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from schemas.tables.base import Base
from schemas.tables.column_types import HEX_DIGEST

MAX_KEY = 255
"""Characters of an `Idempotency-Key`."""


class SubmissionKeyRow(Base):
    """That a job was submitted under an `Idempotency-Key`, by the token named `owner`, empty where there are none."""

    __tablename__ = "submission_keys"

    owner: Mapped[str] = mapped_column(Text, primary_key=True)
    key: Mapped[str] = mapped_column(String(MAX_KEY), primary_key=True)
    body_sha256: Mapped[str] = mapped_column(HEX_DIGEST)
    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))

    __table_args__ = (Index(None, "job_id"),)
