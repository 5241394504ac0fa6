"""Where each object's words came from."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import JSON, ForeignKey, ForeignKeyConstraint, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from schemas.tables.base import Base
from schemas.tables.column_types import HEX_DIGEST


class SourceTensorRow(Base):
    """One source tensor that a job uses, once, whatever number of objects it goes into."""

    __tablename__ = "source_tensors"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    source: Mapped[str] = mapped_column(Text, primary_key=True)
    tensor: Mapped[str] = mapped_column(Text, primary_key=True)
    file: Mapped[str] = mapped_column(Text)
    dtype: Mapped[str] = mapped_column(String(16))
    shape: Mapped[list[int]] = mapped_column(JSON)
    blake3: Mapped[str | None] = mapped_column(HEX_DIGEST)


class ObjectSourceRow(Base):
    """That an object is made of a source tensor; `position` counts within the object."""

    __tablename__ = "object_sources"

    job_id: Mapped[UUID] = mapped_column(primary_key=True)
    object_index: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    source: Mapped[str] = mapped_column(Text)
    tensor: Mapped[str] = mapped_column(Text)

    __table_args__ = (
        ForeignKeyConstraint(["job_id", "object_index"], ["objects.job_id", "objects.index"], ondelete="CASCADE"),
        ForeignKeyConstraint(
            ["job_id", "source", "tensor"],
            ["source_tensors.job_id", "source_tensors.source", "source_tensors.tensor"],
            ondelete="CASCADE",
        ),
        Index(None, "job_id", "source", "tensor"),
    )
