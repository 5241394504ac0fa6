"""Registered recipes as the JSON documents that a job could bring itself."""

from __future__ import annotations

from functools import cache

from workers.engine.recipe.document_text import read_text_document
from workers.engine.recipe.registered import registered_text
from workers.recipe_expansion import Document


@cache
def registered_document(recipe_id: str) -> Document:
    """The document of a registered recipe. Raises RegistryError for an id that is not registered."""
    document = read_text_document(registered_text(recipe_id), where=recipe_id).data
    if not isinstance(document, dict):
        raise TypeError(f"expected the registered recipe {recipe_id} to be an object")
    return Document.of(document)
