"""Storing a recipe that is sent as a text of its own."""

from __future__ import annotations

from schemas.errors import Fault, RecipeError, RegisteredRecipeError
from schemas.interface import RecipeSummary
from service.recipe_documents import stored_summary
from workers.database import Database
from workers.engine.recipe.document_text import TextDocument, read_text_document
from workers.engine.recipe.registered import registered_ids
from workers.recipe_expansion import Document, expanded
from workers.recipe_records import store_recipe

WHERE = "recipe"
"""What messages call the text."""


def store_recipe_text(database: Database, text: str | bytes, *, as_json: bool = False) -> tuple[RecipeSummary, bool]:
    """Validates and stores the recipe of a text, JSON or YAML, and whether it was not there yet.

    Raises RecipeError with every fault, for a text that is no JSON as well where it has to be; RegisteredRecipeError
    for the id of a registered recipe; RecipeTakenError for id and revision of another that is stored.
    """
    read = read_text_document(text, where=WHERE)
    if as_json and not read.is_json:
        fault = Fault("", "expected JSON; YAML is sent as application/yaml")
        raise RecipeError(WHERE, [fault], expected="a recipe as JSON")
    document = _document(read)
    recipe = expanded(document, {})
    if recipe.id in registered_ids():
        raise RegisteredRecipeError(
            f"recipe {recipe.id}", expected="an id of your own", found="that of a recipe which comes with the service"
        )
    with database.writing() as session:
        row, is_new = store_recipe(session, document, recipe, text=None if read.is_json else read.source.text)
        return stored_summary(row), is_new


def _document(read: TextDocument) -> Document:
    if not isinstance(read.data, dict):
        raise RecipeError(WHERE, [Fault("", "a recipe is an object")], expected="a recipe")
    return Document.of(read.data)
