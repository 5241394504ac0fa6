"""Worker processes, and which token has queued a job."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "workers",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("device", sa.String(16), nullable=False),
        sa.Column("threads", sa.Integer(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("started_at", _MOMENT, nullable=False),
        sa.Column("heartbeat_at", _MOMENT, nullable=False),
        sa.Column("expires_at", _MOMENT, nullable=False),
        sa.Column("ended_at", _MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("name", name="pk_workers"),
    )
    op.create_index("ix_workers_heartbeat_at", "workers", ["heartbeat_at"])
    with op.batch_alter_table("jobs") as jobs:
        jobs.add_column(sa.Column("queued_by", sa.Text(), nullable=False, server_default=""))
    with op.batch_alter_table("jobs") as jobs:
        jobs.alter_column("queued_by", server_default=None)
    op.create_index("ix_jobs_queued_by_state", "jobs", ["queued_by", "state"])


def downgrade() -> None:
    op.drop_index("ix_jobs_queued_by_state", "jobs")
    with op.batch_alter_table("jobs") as jobs:
        jobs.drop_column("queued_by")
    op.drop_table("workers")
