"""What happens to jobs, as events that are told to whoever watches them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("jobs") as jobs:
        jobs.add_column(sa.Column("last_event", sa.Integer(), nullable=False, server_default="0"))
    with op.batch_alter_table("jobs") as jobs:
        jobs.alter_column("last_event", server_default=None)
    op.create_table(
        "job_events",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_job_events_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "number", name="pk_job_events"),
    )
    op.create_index(
        "ix_job_events_one_progress",
        "job_events",
        ["job_id"],
        unique=True,
        sqlite_where=sa.text("kind = 'progress'"),
        postgresql_where=sa.text("kind = 'progress'"),
    )


def downgrade() -> None:
    op.drop_table("job_events")
    with op.batch_alter_table("jobs") as jobs:
        jobs.drop_column("last_event")
