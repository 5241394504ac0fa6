"""Jobs, claims, objects, and the source tensors that objects are made of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_BIG_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_NULLABLE_JSON = sa.JSON(none_as_null=True)
_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    _create_jobs()
    _create_claims()
    _create_objects()
    _create_source_tensors()


def downgrade() -> None:
    for table in ("object_sources", "source_tensors", "objects", "claims", "jobs"):
        op.drop_table(table)


def _create_jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("recipe_id", sa.Text(), nullable=False),
        sa.Column("recipe_revision", _BIG_INTEGER, nullable=False),
        sa.Column("recipe_sha256", sa.String(64), nullable=False),
        sa.Column("recipe_document", sa.JSON(), nullable=False),
        sa.Column("let", sa.JSON(), nullable=False),
        sa.Column("sources", sa.JSON(), nullable=False),
        sa.Column("resources", sa.JSON(), nullable=False),
        sa.Column("framing", sa.Integer(), nullable=True),
        sa.Column("verify", sa.String(16), nullable=False),
        sa.Column("device", sa.String(16), nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("started_at", _MOMENT, nullable=True),
        sa.Column("stage_started_at", _MOMENT, nullable=True),
        sa.Column("finished_at", _MOMENT, nullable=True),
        sa.Column("fingerprint", sa.Text(), nullable=True),
        sa.Column("objects_total", sa.Integer(), nullable=True),
        sa.Column("payload_bytes", _BIG_INTEGER, nullable=True),
        sa.Column("file_bytes", _BIG_INTEGER, nullable=True),
        sa.Column("work_file", sa.Text(), nullable=True),
        sa.Column("lost_claims", sa.Integer(), nullable=False),
        sa.Column("error", _NULLABLE_JSON, nullable=True),
        sa.Column("artifact_sha256", sa.String(64), nullable=True),
        sa.Column("report_head", _NULLABLE_JSON, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    op.create_index("ix_jobs_state", "jobs", ["state"])
    op.create_index("ix_jobs_artifact_sha256", "jobs", ["artifact_sha256"])


def _create_claims() -> None:
    op.create_table(
        "claims",
        sa.Column("id", _BIG_INTEGER, autoincrement=True, nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("stage", sa.String(16), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("expires_at", _MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_claims_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_claims"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_claims_job_id", "claims", ["job_id"])
    op.create_index("ix_claims_expires_at", "claims", ["expires_at"])
    exclusive = sa.text("stage <> 'encoding'")
    op.create_index(
        "ix_claims_one_planner_or_verifier",
        "claims",
        ["job_id"],
        unique=True,
        sqlite_where=exclusive,
        postgresql_where=exclusive,
    )


def _create_objects() -> None:
    op.create_table(
        "objects",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("index", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("shape", _NULLABLE_JSON, nullable=True),
        sa.Column("format", sa.Text(), nullable=True),
        sa.Column("layout", sa.Text(), nullable=False),
        sa.Column("offset", _BIG_INTEGER, nullable=False),
        sa.Column("bytes", _BIG_INTEGER, nullable=False),
        sa.Column("expression", sa.Text(), nullable=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("claim_id", _BIG_INTEGER, nullable=True),
        sa.Column("bytes_done", _BIG_INTEGER, nullable=False),
        sa.Column("encoder", sa.Text(), nullable=True),
        sa.Column("backend", sa.Text(), nullable=True),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("blocks", sa.Integer(), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("payload_blake3", sa.String(64), nullable=True),
        sa.Column("reciprocals", sa.JSON(), nullable=False),
        sa.Column("error", _NULLABLE_JSON, nullable=True),
        sa.Column("checks", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["claim_id"], ["claims.id"], name="fk_objects_claim_id"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_objects_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "index", name="pk_objects"),
    )
    op.create_index("ix_objects_claim_id", "objects", ["claim_id"])
    op.create_index("ix_objects_job_id_state_bytes", "objects", ["job_id", "state", "bytes"])


def _create_source_tensors() -> None:
    op.create_table(
        "source_tensors",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("tensor", sa.Text(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("dtype", sa.String(16), nullable=False),
        sa.Column("shape", sa.JSON(), nullable=False),
        sa.Column("blake3", sa.String(64), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_source_tensors_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "source", "tensor", name="pk_source_tensors"),
    )
    op.create_table(
        "object_sources",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("object_index", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("tensor", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id", "object_index"],
            ["objects.job_id", "objects.index"],
            name="fk_object_sources_job_id_object_index",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["job_id", "source", "tensor"],
            ["source_tensors.job_id", "source_tensors.source", "source_tensors.tensor"],
            name="fk_object_sources_job_id_source_tensor",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("job_id", "object_index", "position", name="pk_object_sources"),
    )
    op.create_index("ix_object_sources_job_id_source_tensor", "object_sources", ["job_id", "source", "tensor"])
