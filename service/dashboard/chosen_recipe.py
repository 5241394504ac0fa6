"""Recipes to choose from for a new job, and the one that was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from schemas.errors import Fault, RecipeError
from schemas.recipe.expanded import ExpandedRecipe
from service.dashboard.job_form import JobForm
from service.registered_documents import registered_document
from service.submissions import known_document
from workers.database import Database
from workers.engine.recipe.document_text import read_text_document
from workers.engine.recipe.registered import registered_ids
from workers.recipe_expansion import Document, expanded
from workers.recipe_records import newest_stored_recipes

_MOST_STORED = 1000


@dataclass(frozen=True, slots=True)
class RecipeOption:
    """One recipe to choose, under its id."""

    id: str
    title: str | None


@dataclass(frozen=True, slots=True)
class LetInteger:
    """A named integer of a recipe, and what it is there."""

    name: str
    written: str


@dataclass(frozen=True, slots=True)
class ChosenRecipe:
    """The recipe of a form, expanded as it is written; `integers` may be given other values."""

    document: Document
    recipe: ExpandedRecipe
    integers: tuple[LetInteger, ...]


def registered_options() -> list[RecipeOption]:
    """Recipes that come with the service."""
    return [RecipeOption(one, registered_document(one).data.get("title")) for one in registered_ids()]


def stored_options(session: Session) -> list[RecipeOption]:
    """Recipes that were stored."""
    return [
        RecipeOption(one.id, one.title)
        for one in newest_stored_recipes(session, text=None, after="", limit=_MOST_STORED)
    ]


def chosen_recipe(form: JobForm, database: Database) -> ChosenRecipe:
    """The recipe that a form names or holds. Raises RecipeError with all its faults, also for an id that is unknown."""
    document = _pasted(form.text) if form.text else known_document(form.recipe, database)
    return ChosenRecipe(document, expanded(document, {}), tuple(_integers(document)))


def _pasted(text: str) -> Document:
    data = read_text_document(text, where="recipe").data
    if not isinstance(data, dict):
        raise RecipeError("recipe", [Fault("", "a recipe is an object")], expected="a recipe")
    return Document.of(data)


def _integers(document: Document) -> Sequence[LetInteger]:
    """What `let` has, but for sets of integers: they cannot be replaced."""
    let = document.data.get("let", {})
    return [LetInteger(name, str(value)) for name, value in let.items() if not isinstance(value, list | dict)]
