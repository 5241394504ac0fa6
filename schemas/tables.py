"""The SQL tables: jobs, their objects, where each object's words came from, and who holds a claim on what.

SQL is the truth about jobs (design.md, Jobs). All of it is valid on SQLite and on PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar
from uuid import UUID

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    Enum,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Text,
    TypeDecorator,
    Uuid,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from schemas.states import EventKind, JobState, ObjectState, Stage

BIG_INTEGER = BigInteger().with_variant(Integer, "sqlite")
"""64 bits on both: SQLite's INTEGER holds as many, and only under that name can it number rows itself."""

HEX_DIGEST = String(64)
"""SHA-256 or BLAKE3 in lower-case hexadecimal digits."""


ORDERED_TEXT = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that sorts by its characters' numbers, on both and as Python does."""

MAX_KEY = 255
"""Characters of an `Idempotency-Key`."""


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC. SQLite has no time zones, so it goes in and comes out without one there."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - signature
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - signature
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _text_enum(states: type[StrEnum]) -> Enum:
    return Enum(states, native_enum=False, length=16, values_callable=lambda kind: [member.value for member in kind])


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar[Mapping[Any, Any]] = {
        datetime: UtcDateTime(),
        UUID: Uuid(),
        JobState: _text_enum(JobState),
        ObjectState: _text_enum(ObjectState),
        Stage: _text_enum(Stage),
        EventKind: _text_enum(EventKind),
    }


class RecipeRow(Base):
    """The document of a recipe, once for all jobs and stored recipes that have the same, and as long as there is one.

    `sha256` is of its JSON with members in the order of their names. It is not the identity that recipe.md defines,
    which leaves out evidence and titles, and changes with the `let` of a job.
    """

    __tablename__ = "recipes"

    sha256: Mapped[str] = mapped_column(HEX_DIGEST, primary_key=True)
    document: Mapped[dict[str, Any]] = mapped_column(JSON)
    model_id: Mapped[str] = mapped_column(Text)
    weights_id: Mapped[str] = mapped_column(Text)


class StoredRecipeRow(Base):
    """One revision of a recipe that was stored to be used by its id, with what lists show of it."""

    __tablename__ = "stored_recipes"

    id: Mapped[str] = mapped_column(ORDERED_TEXT, primary_key=True)
    revision: Mapped[int] = mapped_column(BIG_INTEGER, primary_key=True, autoincrement=False)
    document_sha256: Mapped[str] = mapped_column(HEX_DIGEST, ForeignKey("recipes.sha256"))
    text: Mapped[str | None] = mapped_column(Text, deferred=True)
    """The YAML that it was sent as, comments and all; None for JSON."""
    sha256: Mapped[str] = mapped_column(HEX_DIGEST)
    """Of its canonical form (recipe.md, Identity)."""
    title: Mapped[str | None] = mapped_column(Text)
    target: Mapped[str | None] = mapped_column(Text)
    architecture: Mapped[str | None] = mapped_column(Text)
    objects: Mapped[int]
    created_at: Mapped[datetime]
    recipe: Mapped[RecipeRow] = relationship()

    __table_args__ = (Index(None, "document_sha256"),)


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


class AttemptRow(Base):
    """How a job ended before it was tried again; `number` counts from 0."""

    __tablename__ = "job_attempts"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    state: Mapped[JobState]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    error: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))


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


class ProgressSampleRow(Base):
    """Payload bytes that a job had gone through in a state at a moment: what throughput over time is drawn from."""

    __tablename__ = "progress_samples"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    at: Mapped[datetime] = mapped_column(primary_key=True)
    state: Mapped[JobState]
    bytes_done: Mapped[int] = mapped_column(BIG_INTEGER)


class WebhookEventRow(Base):
    """That a job has ended, to be told to the webhook: there until a receiver has taken it, or for a day. It outlives
    the job."""

    __tablename__ = "webhook_events"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    job_id: Mapped[UUID]
    body: Mapped[str] = mapped_column(Text)
    """The job as it was then, as it is sent."""
    created_at: Mapped[datetime]
    due_at: Mapped[datetime]
    """When it is to be sent next; later than now while one process is sending it."""
    attempts: Mapped[int] = mapped_column(default=0)

    __table_args__ = (Index(None, "due_at"),)


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


class SubmissionKeyRow(Base):
    """That a job was submitted under an `Idempotency-Key`, by the token named `owner`, empty where there are none."""

    __tablename__ = "submission_keys"

    owner: Mapped[str] = mapped_column(Text, primary_key=True)
    key: Mapped[str] = mapped_column(String(MAX_KEY), primary_key=True)
    body_sha256: Mapped[str] = mapped_column(HEX_DIGEST)
    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))

    __table_args__ = (Index(None, "job_id"),)


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
