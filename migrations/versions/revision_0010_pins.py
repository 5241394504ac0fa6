"""Jobs that stay until they are unpinned, and what is to be told to a webhook."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("jobs") as jobs:
        jobs.add_column(sa.Column("pinned", sa.Boolean(), nullable=False, server_default=sa.false()))
    with op.batch_alter_table("jobs") as jobs:
        jobs.alter_column("pinned", server_default=None)
        jobs.create_index("ix_jobs_finished_at", ["finished_at"])
    op.create_table(
        "webhook_events",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_webhook_events"),
    )
    op.create_index("ix_webhook_events_due_at", "webhook_events", ["due_at"])


def downgrade() -> None:
    op.drop_table("webhook_events")
    with op.batch_alter_table("jobs") as jobs:
        jobs.drop_index("ix_jobs_finished_at")
        jobs.drop_column("pinned")
