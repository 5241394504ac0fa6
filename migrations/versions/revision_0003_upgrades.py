"""Jobs that upgrade a file, which have no recipe."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.types import TypeEngine

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_RECIPE: dict[str, TypeEngine[Any]] = {
    "recipe_id": sa.Text(),
    "recipe_revision": sa.BigInteger(),
    "recipe_sha256": sa.String(64),
    "recipe_document": sa.JSON(),
}


def upgrade() -> None:
    with op.batch_alter_table("jobs") as jobs:
        jobs.add_column(sa.Column("upgrade", sa.JSON(none_as_null=True), nullable=True))
        for name, kind in _RECIPE.items():
            jobs.alter_column(name, existing_type=kind, nullable=True)


def downgrade() -> None:
    op.execute(sa.text("DELETE FROM jobs WHERE recipe_id IS NULL"))
    with op.batch_alter_table("jobs") as jobs:
        for name, kind in _RECIPE.items():
            jobs.alter_column(name, existing_type=kind, nullable=False)
        jobs.drop_column("upgrade")
