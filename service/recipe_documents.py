"""Recipes that jobs take by their ids, registered and stored, as the interface shows them."""

from __future__ import annotations

from functools import cache

from sqlalchemy.orm import Session

from schemas.interface import Page, RecipeDocument, RecipeSummary
from schemas.recipe.expanded import ExpandedRecipe
from schemas.tables import StoredRecipeRow
from service.registered_documents import registered_document
from workers import recipe_records
from workers.engine.recipe.registered import registered_ids, registered_text
from workers.recipe_expansion import expanded


def recipe_page(session: Session, *, text: str | None, limit: int, cursor: str) -> Page[RecipeSummary]:
    """Recipes by id, each in its newest revision, with `text` in id or title; the cursor is the last id before the
    page."""
    stored = recipe_records.newest_stored_recipes(session, text=text, after=cursor, limit=limit + 1)
    registered = [summary for summary in _registered(text) if summary.id > cursor]
    found = sorted([*map(stored_summary, stored), *registered], key=lambda summary: summary.id)
    shown = found[:limit]
    return Page(items=tuple(shown), next=shown[-1].id if len(found) > limit else None)


def recipe_document(session: Session, recipe_id: str, revision: int | None) -> RecipeDocument | None:
    """One revision of a recipe, the newest where none is named; None if there is none."""
    if recipe_id in registered_ids():
        summary = registered_summary(recipe_id)
        if revision not in (None, summary.revision):
            return None
        document, text = registered_document(recipe_id).data, registered_text(recipe_id)
        return RecipeDocument(**dict(summary), document=document, text=text, revisions=(summary.revision,))
    row = recipe_records.stored_recipe(session, recipe_id, revision)
    if row is None:
        return None
    revisions = tuple(recipe_records.stored_revisions(session, recipe_id))
    return RecipeDocument(**dict(stored_summary(row)), document=row.recipe.document, text=row.text, revisions=revisions)


def stored_summary(row: StoredRecipeRow) -> RecipeSummary:
    """A stored recipe in a list."""
    return RecipeSummary(
        id=row.id,
        revision=row.revision,
        sha256=row.sha256,
        title=row.title,
        target=row.target,
        architecture=row.architecture,
        objects=row.objects,
        registered=False,
        created_at=row.created_at,
    )


@cache
def registered_summary(recipe_id: str) -> RecipeSummary:
    """A registered recipe in a list."""
    recipe: ExpandedRecipe = expanded(registered_document(recipe_id), {})
    return RecipeSummary(
        id=recipe.id,
        revision=recipe.revision,
        sha256=recipe.sha256,
        title=recipe.title,
        target=recipe.target,
        architecture=recipe.architecture,
        objects=len(recipe.resources) + len(recipe.objects),
        registered=True,
        created_at=None,
    )


def _registered(text: str | None) -> list[RecipeSummary]:
    summaries = map(registered_summary, registered_ids())
    sought = (text or "").casefold()
    return [one for one in summaries if sought in f"{one.id}\n{one.title or ''}".casefold()]
