"""Worker processes and their signs of life."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from schemas.tables.base import Base
from schemas.tables.column_types import BIG_INTEGER


class WorkerRow(Base):
    """A worker process, under the name that its claims carry. It is alive until `expires_at`, and says so again and
    again; the row stays for a while after its end."""

    __tablename__ = "workers"

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    host: Mapped[str] = mapped_column(Text)
    pid: Mapped[int] = mapped_column(BIG_INTEGER)
    device: Mapped[str] = mapped_column(String(16))
    threads: Mapped[int]
    version: Mapped[str] = mapped_column(Text)
    """Of ninforge."""
    started_at: Mapped[datetime]
    heartbeat_at: Mapped[datetime]
    """Its last sign of life."""
    expires_at: Mapped[datetime]
    """When it counts as lost without another one."""
    ended_at: Mapped[datetime | None]
    """When it ended as it was asked to."""

    __table_args__ = (Index(None, "heartbeat_at"),)
