"""Recipes from where they are written: the entry points of the recipe language (recipe.md)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from schemas.errors import Fault, RecipeError
from schemas.recipe.document import read_recipe_document
from schemas.recipe.expanded import ExpandedRecipe
from schemas.recipe.fields import describe
from schemas.recipe.limits import TEXT_BYTES
from workers.engine.recipe.document_text import read_text_document
from workers.engine.recipe.expansion import expand
from workers.engine.recipe.fault_list import EXPECTED, FaultList
from workers.engine.recipe.plain_data import check_plain_data

NO_OVERRIDES: Mapping[str, int] = {}


def load_recipe(text: str | bytes, *, where: str, let: Mapping[str, int] = NO_OVERRIDES) -> ExpandedRecipe:
    """The recipe of a JSON or YAML text; `let` overrides integers of its `let`.

    Raises RecipeError with every fault at once. Where the text itself cannot be read there is one fault, and its
    message gives line and column; the place of any other is `read_text_document(text).places([fault.at])`.
    """
    return expand_document(read_text_document(text, where=where).data, where=where, let=let)


def read_recipe(path: Path, *, let: Mapping[str, int] = NO_OVERRIDES) -> ExpandedRecipe:
    """The recipe of a file. Raises RecipeError as `load_recipe`, and for a file that cannot be read."""
    return load_recipe(read_recipe_text(path), where=str(path), let=let)


def read_recipe_text(path: Path) -> bytes:
    """The bytes of a recipe file, no more than tell that there are too many."""
    try:
        with path.open("rb") as file:
            return file.read(TEXT_BYTES + 1)
    except OSError as error:
        fault = Fault("", f"the file cannot be read: {error.strerror}")
        raise RecipeError(str(path), [fault], expected=EXPECTED) from None


def expand_document(document: object, *, where: str, let: Mapping[str, int] = NO_OVERRIDES) -> ExpandedRecipe:
    """The recipe of data that is already parsed, as of an API body. Raises RecipeError with every fault at once."""
    faults = FaultList(where, ())
    check_plain_data(document, faults)
    if not faults and not isinstance(document, dict):
        faults.add(None, f"a recipe is an object, found {describe(document)}")
    if faults or not isinstance(document, dict):
        raise faults.error()
    read, structural = read_recipe_document(document)
    return expand(read, structural, where=where, let=let)
