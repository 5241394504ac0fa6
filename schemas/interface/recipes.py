"""Recipes that jobs take by their id."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from schemas.interface.answers import Answer


class RecipeSummary(Answer):
    """A recipe that jobs take by its id, in a list in its newest revision: one that comes with the service
    (`registered`), or one that was stored at `created_at`."""

    id: str
    revision: int
    sha256: str
    title: str | None
    target: str | None
    architecture: str | None
    objects: int
    registered: bool
    created_at: datetime | None


class RecipeDocument(RecipeSummary):
    """A recipe with its document, as a job takes it: `text` is the YAML that it was written as, None if it was sent as
    JSON; `revisions` are all that there are, newest first."""

    document: Mapping[str, Any]
    text: str | None
    revisions: tuple[int, ...]
