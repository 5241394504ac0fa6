"""Which commits the remote sources of a job are of, and how far they are fetched."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_BIG_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    with op.batch_alter_table("jobs") as jobs:
        jobs.add_column(sa.Column("commits", sa.JSON(), nullable=False, server_default="{}"))
        jobs.add_column(sa.Column("fetch_bytes", _BIG_INTEGER, nullable=True))
        jobs.add_column(sa.Column("fetched_bytes", _BIG_INTEGER, nullable=True))
    with op.batch_alter_table("jobs") as jobs:
        jobs.alter_column("commits", server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("jobs") as jobs:
        for column in ("fetched_bytes", "fetch_bytes", "commits"):
            jobs.drop_column(column)
