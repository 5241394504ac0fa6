"""The files of artifacts."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey, Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from schemas.tables.base import Base
from schemas.tables.column_types import BIG_INTEGER, HEX_DIGEST


class ArtifactPartRow(Base):
    """One file of an artifact, the entry first: there once all files have passed verification; published, and to be
    downloaded, when the job is `ready`."""

    __tablename__ = "artifact_parts"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    index: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(Text)
    """Under which it is downloaded."""
    bytes: Mapped[int] = mapped_column(BIG_INTEGER)
    sha256: Mapped[str] = mapped_column(HEX_DIGEST)

    __table_args__ = (Index(None, "sha256"),)
