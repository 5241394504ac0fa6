"""Documents of recipes in a table of their own, and recipes that are stored to be used by their ids."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_BIG_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_ORDERED_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_FOREIGN_KEY = "fk_jobs_recipe_document_sha256"
_INDEX = "ix_jobs_recipe_document_sha256"

_JOBS = sa.table(
    "jobs",
    sa.column("id", sa.Uuid()),
    sa.column("recipe_document", sa.JSON(none_as_null=True)),
    sa.column("recipe_document_sha256", sa.String(64)),
)
_RECIPES = sa.table("recipes", sa.column("sha256", sa.String(64)), sa.column("document", sa.JSON()))


def upgrade() -> None:
    op.create_table(
        "recipes",
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name="pk_recipes"),
    )
    _create_stored_recipes()
    with op.batch_alter_table("jobs") as jobs:
        jobs.add_column(sa.Column("recipe_document_sha256", sa.String(64), nullable=True))
        jobs.create_foreign_key(_FOREIGN_KEY, "recipes", ["recipe_document_sha256"], ["sha256"])
    _move_documents()
    with op.batch_alter_table("jobs") as jobs:
        jobs.drop_column("recipe_document")
    op.create_index(_INDEX, "jobs", ["recipe_document_sha256"])


def downgrade() -> None:
    with op.batch_alter_table("jobs") as jobs:
        jobs.add_column(sa.Column("recipe_document", sa.JSON(none_as_null=True), nullable=True))
    document = sa.select(_RECIPES.c.document).where(_RECIPES.c.sha256 == _JOBS.c.recipe_document_sha256)
    op.execute(sa.update(_JOBS).values(recipe_document=document.scalar_subquery()))
    op.drop_index(_INDEX, "jobs")
    with op.batch_alter_table("jobs") as jobs:
        jobs.drop_constraint(_FOREIGN_KEY, type_="foreignkey")
        jobs.drop_column("recipe_document_sha256")
    op.drop_table("stored_recipes")
    op.drop_table("recipes")


def _create_stored_recipes() -> None:
    op.create_table(
        "stored_recipes",
        sa.Column("id", _ORDERED_TEXT, nullable=False),
        sa.Column("revision", _BIG_INTEGER, nullable=False, autoincrement=False),
        sa.Column("document_sha256", sa.String(64), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("target", sa.Text(), nullable=True),
        sa.Column("architecture", sa.Text(), nullable=True),
        sa.Column("objects", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["document_sha256"], ["recipes.sha256"], name="fk_stored_recipes_document_sha256"),
        sa.PrimaryKeyConstraint("id", "revision", name="pk_stored_recipes"),
    )
    op.create_index("ix_stored_recipes_document_sha256", "stored_recipes", ["document_sha256"])


def _move_documents() -> None:
    """Gives each job its document by reference, one job at a time: all of them may be more than memory holds."""
    connection = op.get_bind()
    known: set[str] = set()
    for job_id, document in _documents(connection):
        ordered = json.dumps(document, sort_keys=True, separators=(",", ":"))
        sha256 = hashlib.sha256(ordered.encode()).hexdigest()
        if sha256 not in known:
            connection.execute(sa.insert(_RECIPES).values(sha256=sha256, document=document))
            known.add(sha256)
        connection.execute(sa.update(_JOBS).where(_JOBS.c.id == job_id).values(recipe_document_sha256=sha256))


def _documents(connection: sa.Connection) -> Iterator[tuple[UUID, Any]]:
    for job_id in connection.scalars(sa.select(_JOBS.c.id)).all():
        document = connection.scalar(sa.select(_JOBS.c.recipe_document).where(_JOBS.c.id == job_id))
        if document is not None:
            yield job_id, document
