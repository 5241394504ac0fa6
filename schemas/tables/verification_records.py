"""What verification found out about objects."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import JSON, ForeignKeyConstraint, Text
from sqlalchemy.orm import Mapped, mapped_column

from schemas.tables.base import Base
from schemas.tables.column_types import BIG_INTEGER


class VerificationCheckRow(Base):
    """One thing that verification looked at in an object; `position` counts within the object."""

    __tablename__ = "verification_checks"

    job_id: Mapped[UUID] = mapped_column(primary_key=True)
    object_index: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(Text)
    rows: Mapped[int] = mapped_column(BIG_INTEGER)
    passed: Mapped[bool]

    __table_args__ = (
        ForeignKeyConstraint(["job_id", "object_index"], ["objects.job_id", "objects.index"], ondelete="CASCADE"),
    )


class ObjectHistogramRow(Base):
    """Counts of the words of a quantized object, of the rows that were verified."""

    __tablename__ = "object_histograms"

    job_id: Mapped[UUID] = mapped_column(primary_key=True)
    object_index: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    codes: Mapped[list[int]] = mapped_column(JSON)
    """Elements by the bits of their code."""
    scales: Mapped[list[list[int]]] = mapped_column(JSON)
    """Bin and count of the scales above zero, by bins that are not empty."""
    zero_scales: Mapped[int] = mapped_column(BIG_INTEGER)

    __table_args__ = (
        ForeignKeyConstraint(["job_id", "object_index"], ["objects.job_id", "objects.index"], ondelete="CASCADE"),
    )
