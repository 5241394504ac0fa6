"""The registered recipes, which come with the package: recipes/ID.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType

from schemas.errors import RegistryError
from schemas.recipe.expanded import ExpandedRecipe
from workers.engine.recipe.load import NO_OVERRIDES, load_recipe

_SUFFIX = ".yaml"


def registered_ids() -> tuple[str, ...]:
    """The ids of all registered recipes, sorted."""
    return tuple(_registered())


def registered_text(id: str) -> str:
    """The text of a registered recipe. Raises RegistryError for an id that is not registered."""
    file = _registered().get(id)
    if file is None:
        raise RegistryError("recipe", expected=f"one of {', '.join(registered_ids())}", found=repr(id))
    return file.read_text(encoding="utf-8")


def load_registered(id: str, *, let: Mapping[str, int] = NO_OVERRIDES) -> ExpandedRecipe:
    """A registered recipe, expanded. Raises RegistryError for an unknown id, RecipeError for a wrong override."""
    return load_recipe(registered_text(id), where=id, let=let)


@cache
def _registered() -> Mapping[str, Traversable]:
    folder = files("workers.engine").joinpath("recipes")
    found = {file.name.removesuffix(_SUFFIX): file for file in folder.iterdir() if file.name.endswith(_SUFFIX)}
    return MappingProxyType({id: found[id] for id in sorted(found)})
