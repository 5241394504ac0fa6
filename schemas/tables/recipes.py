"""Documents of recipes, and recipes that were stored to be used by their id."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, Text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from schemas.tables.base import Base
from schemas.tables.column_types import BIG_INTEGER, HEX_DIGEST, ORDERED_TEXT


class RecipeRow(Base):
    """The document of a recipe, once for all jobs and stored recipes that have the same, and as long as there is one.

    `sha256` is of its JSON with members in the order of their names. It is not the identity that recipe.md defines,
    which leaves out evidence and titles, and changes with the `let` of a job.
    """

    __tablename__ = "recipes"

    sha256: Mapped[str] = mapped_column(HEX_DIGEST, primary_key=True)
    document: Mapped[dict[str, Any]] = mapped_column(JSON)
    model_id: Mapped[str] = mapped_column(Text)
    weights_id: Mapped[str] = mapped_column(Text)


class StoredRecipeRow(Base):
    """One revision of a recipe that was stored to be used by its id, with what lists show of it."""

    __tablename__ = "stored_recipes"

    id: Mapped[str] = mapped_column(ORDERED_TEXT, primary_key=True)
    revision: Mapped[int] = mapped_column(BIG_INTEGER, primary_key=True, autoincrement=False)
    document_sha256: Mapped[str] = mapped_column(HEX_DIGEST, ForeignKey("recipes.sha256"))
    text: Mapped[str | None] = mapped_column(Text, deferred=True)
    """The YAML that it was sent as, comments and all; None for JSON."""
    sha256: Mapped[str] = mapped_column(HEX_DIGEST)
    """Of its canonical form (recipe.md, Identity)."""
    title: Mapped[str | None] = mapped_column(Text)
    target: Mapped[str | None] = mapped_column(Text)
    architecture: Mapped[str | None] = mapped_column(Text)
    objects: Mapped[int]
    created_at: Mapped[datetime]
    recipe: Mapped[RecipeRow] = relationship()

    __table_args__ = (Index(None, "document_sha256"),)
