"""What model and what weights a recipe is for, beside its document: lists of jobs show both."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_NAMES = ("model_id", "weights_id")


def upgrade() -> None:
    with op.batch_alter_table("recipes") as recipes:
        for name in _NAMES:
            recipes.add_column(sa.Column(name, sa.Text(), nullable=False, server_default=""))
    columns = [sa.column(name, sa.Text()) for name in _NAMES]
    table = sa.table("recipes", sa.column("document", sa.JSON()), *columns)
    named = {name: sa.func.coalesce(table.c.document[name].as_string(), "") for name in _NAMES}
    op.execute(table.update().values(named))
    with op.batch_alter_table("recipes") as recipes:
        for name in _NAMES:
            recipes.alter_column(name, server_default=None)


def downgrade() -> None:
    for name in _NAMES:
        op.drop_column("recipes", name)
