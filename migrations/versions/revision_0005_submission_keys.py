"""Keys that make submitting the same twice one job."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "submission_keys",
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("body_sha256", sa.String(64), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_submission_keys_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("owner", "key", name="pk_submission_keys"),
    )
    op.create_index("ix_submission_keys_job_id", "submission_keys", ["job_id"])


def downgrade() -> None:
    op.drop_table("submission_keys")
