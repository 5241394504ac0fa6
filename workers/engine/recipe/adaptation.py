"""A recipe as a user's own: the same text under another id, for other sizes and other resource files (recipe.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from schemas.errors import Fault, RecipeError
from schemas.recipe.expanded import ExpandedRecipe
from schemas.recipe.pointer import escape
from workers.engine.recipe.document_text import read_text_document
from workers.engine.recipe.fault_list import EXPECTED
from workers.engine.recipe.load import load_recipe


def adapt_recipe_text(text: str, *, where: str, id: str, let: Mapping[str, int], pins: Mapping[str, str]) -> str:
    """The text with another `id`, other integers of `let`, and other SHA-256 (lowercase hex) of pinned resources.

    Where `let` has any, `target` becomes null. Nothing else changes, comments and spacing included. Raises RecipeError
    for a recipe with faults, an id that is none, a name that is no integer of `let`, and a pin for a resource that has
    none.
    """
    document = read_text_document(text, where=where)
    recipe = load_recipe(text, where=where, let=let)
    faults = [*_pin_faults(recipe, pins)]
    if faults:
        raise RecipeError(where, faults, expected=EXPECTED)
    scalars: dict[str, str | int | None] = {"/id": id}
    scalars |= {f"/let/{escape(name)}": value for name, value in let.items()}
    scalars |= {f"{one.at}/sha256": pins[one.name] for one in recipe.resources if one.name in pins}
    if let and recipe.target is not None:
        scalars["/target"] = None
    adapted = document.with_scalars(scalars)
    _require_no_other_difference(load_recipe(adapted, where=where), recipe, id, pins)
    return adapted


def _pin_faults(recipe: ExpandedRecipe, pins: Mapping[str, str]) -> Iterator[Fault]:
    resources = {one.name: one for one in recipe.resources}
    for name in pins:
        if name not in resources:
            yield Fault("/resources", f"expected a resource of the recipe, found a SHA-256 for {name!r}")
        elif resources[name].sha256 is None:
            yield Fault(
                resources[name].at, "expected a resource with a SHA-256 that can be replaced, found one without"
            )


def _require_no_other_difference(
    adapted: ExpandedRecipe, recipe: ExpandedRecipe, id: str, pins: Mapping[str, str]
) -> None:
    """Raises RecipeError unless the adapted recipe is the other one but for what was to change."""
    expected = replace(
        recipe,
        id=id,
        target=None if recipe.let_overridden else recipe.target,
        resources=tuple(replace(one, sha256=pins.get(one.name, one.sha256)) for one in recipe.resources),
        let_overridden=False,
        canonical=adapted.canonical,
        sha256=adapted.sha256,
    )
    if adapted != expected:
        fault = Fault("", "with other scalars in their places it says something else than expected, and is of no use")
        raise RecipeError(recipe.id, [fault], expected=EXPECTED)
