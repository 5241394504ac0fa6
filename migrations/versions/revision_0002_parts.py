"""Artifacts of several files, and what a job may ask of framing 3."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_BIG_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "artifact_parts",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("bytes", _BIG_INTEGER, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_artifact_parts_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "index", name="pk_artifact_parts"),
    )
    op.create_index("ix_artifact_parts_sha256", "artifact_parts", ["sha256"])
    op.execute(
        sa.text(
            'INSERT INTO artifact_parts (job_id, "index", name, bytes, sha256) '
            "SELECT id, 0, recipe_id || '.v' || framing || '.ninfer', file_bytes, artifact_sha256 FROM jobs "
            "WHERE artifact_sha256 IS NOT NULL"
        )
    )
    op.drop_index("ix_jobs_artifact_sha256", "jobs")
    with op.batch_alter_table("jobs") as jobs:
        jobs.add_column(sa.Column("part_bytes", _BIG_INTEGER, nullable=True))
        jobs.add_column(sa.Column("allow_unexecutable", sa.Boolean(), nullable=False, server_default=sa.false()))
        jobs.add_column(sa.Column("execution", sa.JSON(none_as_null=True), nullable=True))
        jobs.alter_column("work_file", new_column_name="work_files")
        jobs.drop_column("artifact_sha256")
    with op.batch_alter_table("jobs") as jobs:
        jobs.alter_column("allow_unexecutable", server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("jobs") as jobs:
        jobs.add_column(sa.Column("artifact_sha256", sa.String(64), nullable=True))
        jobs.alter_column("work_files", new_column_name="work_file")
        jobs.drop_column("execution")
        jobs.drop_column("allow_unexecutable")
        jobs.drop_column("part_bytes")
    op.execute(
        sa.text(
            "UPDATE jobs SET artifact_sha256 = "
            '(SELECT sha256 FROM artifact_parts WHERE job_id = jobs.id AND "index" = 0)'
        )
    )
    op.create_index("ix_jobs_artifact_sha256", "jobs", ["artifact_sha256"])
    op.drop_table("artifact_parts")
