"""How a job came along: when each object was encoded, how far the job has been at most, and its bytes over time."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_BIG_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    with op.batch_alter_table("objects") as objects:
        objects.add_column(sa.Column("encoded_at", sa.DateTime(timezone=True), nullable=True))
    with op.batch_alter_table("jobs") as jobs:
        jobs.add_column(sa.Column("furthest", sa.Double(), nullable=False, server_default="0"))
    with op.batch_alter_table("jobs") as jobs:
        jobs.alter_column("furthest", server_default=None)
    op.create_table(
        "progress_samples",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("bytes_done", _BIG_INTEGER, nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_progress_samples_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "at", name="pk_progress_samples"),
    )


def downgrade() -> None:
    op.drop_table("progress_samples")
    with op.batch_alter_table("jobs") as jobs:
        jobs.drop_column("furthest")
    with op.batch_alter_table("objects") as objects:
        objects.drop_column("encoded_at")
