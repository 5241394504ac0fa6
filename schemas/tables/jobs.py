"""Jobs: what was asked for, and how far each has come."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import JSON, ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from schemas.states import JobState
from schemas.tables.artifact_parts import ArtifactPartRow
from schemas.tables.attempts import AttemptRow
from schemas.tables.base import Base
from schemas.tables.column_types import BIG_INTEGER, HEX_DIGEST
from schemas.tables.recipes import RecipeRow


class JobRow(Base):
    """One conversion, or one upgrade, which has no recipe. Ids sort by the time of submission."""

    __tablename__ = "jobs"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    state: Mapped[JobState]
    upgrade: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """What file is to be upgraded and how, as submitted; None for a conversion."""
    recipe_id: Mapped[str | None] = mapped_column(Text)
    recipe_revision: Mapped[int | None] = mapped_column(BIG_INTEGER)
    recipe_sha256: Mapped[str | None] = mapped_column(HEX_DIGEST)
    recipe_document_sha256: Mapped[str | None] = mapped_column(HEX_DIGEST, ForeignKey("recipes.sha256"))
    """The recipe as submitted, so that a later edition of a registered one does not reach into a running job."""
    let: Mapped[dict[str, Any]] = mapped_column(JSON)
    sources: Mapped[dict[str, str]] = mapped_column(JSON)
    """Where each source is, as submitted; each process resolves it below its own roots."""
    resources: Mapped[dict[str, str]] = mapped_column(JSON)
    framing: Mapped[int | None]
    """What was asked for, None for `auto`; after planning, what it is."""
    part_bytes: Mapped[int | None] = mapped_column(BIG_INTEGER)
    """Framing 3: no file of the artifact is to be larger; None for the default."""
    allow_unexecutable: Mapped[bool] = mapped_column(default=False)
    """Whether to make an artifact that engines load and fail to run."""
    queued_by: Mapped[str] = mapped_column(Text, default="")
    """Name of the token that submitted it or had it tried again, whichever was last; empty where there are none."""
    verify: Mapped[str] = mapped_column(String(16))
    device: Mapped[str] = mapped_column(String(16))
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    stage_started_at: Mapped[datetime | None]
    """When the present state began: what rates and remaining times count from."""
    finished_at: Mapped[datetime | None]
    fingerprint: Mapped[str | None] = mapped_column(Text)
    """The plan's: another worker's plan of the same job must have the same, or a source has changed."""
    execution: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Whether an engine runs the artifact, as planning found."""
    objects_total: Mapped[int | None]
    payload_bytes: Mapped[int | None] = mapped_column(BIG_INTEGER)
    """Sum over the objects' payloads."""
    file_bytes: Mapped[int | None] = mapped_column(BIG_INTEGER)
    """Size of the artifact's files together. From planning to the end of the job this much disk is reserved for it."""
    commits: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
    """Of each repository of the Hub among the sources, as ORG/NAME@REVISION, the commit that it was first resolved to.
    It stays when the job is tried again."""
    fetch_bytes: Mapped[int | None] = mapped_column(BIG_INTEGER)
    """Bytes of the remote files that planning found missing. The disk for those still to come is reserved."""
    fetched_bytes: Mapped[int | None] = mapped_column(BIG_INTEGER)
    """How many of them are there."""
    work_files: Mapped[str | None] = mapped_column(Text)
    """Name of a set of files in the job's work folder. Each planning makes its own, so that a late one harms none."""
    furthest: Mapped[float] = mapped_column(default=0.0)
    """The largest share of the present attempt that was ever told as done: work of a lost worker is done again, and
    nobody is to see a job go back."""
    pinned: Mapped[bool] = mapped_column(default=False)
    """Whether it stays until it is unpinned, whoever would remove it and however old it is."""
    lost_claims: Mapped[int] = mapped_column(default=0)
    """Claims that expired since the job last made progress."""
    error: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    last_event: Mapped[int] = mapped_column(default=0)
    """Number of the newest event, 0 before the first."""
    report_head: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True), deferred=True)
    """The report without its objects, whose rows have the rest; set with the parts."""
    parts: Mapped[list[ArtifactPartRow]] = relationship(
        order_by="ArtifactPartRow.index", cascade="all, delete-orphan", passive_deletes=True
    )
    attempts: Mapped[list[AttemptRow]] = relationship(
        order_by="AttemptRow.number", cascade="all, delete-orphan", passive_deletes=True
    )
    recipe: Mapped[RecipeRow | None] = relationship()

    __table_args__ = (
        Index(None, "state"),
        Index(None, "queued_by", "state"),
        Index(None, "recipe_document_sha256"),
        Index(None, "finished_at"),
    )
