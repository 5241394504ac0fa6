"""What downloaded artifacts are called."""

from __future__ import annotations

import re

from schemas.recipe.expanded import ExpandedRecipe

_MAX_NAME = 70
"""Characters of each of the names that a file is called by: file systems take 255 in all."""

_UNPORTABLE = re.compile(r"[^A-Za-z0-9._-]+")


def artifact_file_name(model_id: str, weights_id: str, framing: int, *, recipe_id: str = "") -> str:
    """What an artifact is called: it tells model, weights and framing, and the recipe if its id does not begin so.
    What not every file system takes in a name is `-` in it."""
    names = [_portable(name) for name in (model_id, weights_id) if name]
    if recipe_id and f"{recipe_id}.".startswith(f"{'.'.join(names)}."):
        names = [_portable(recipe_id)]
    elif recipe_id:
        names.append(_portable(recipe_id))
    return ".".join([*names, f"v{framing}", "ninfer"]).lstrip(".-")


def recipe_file_name(recipe: ExpandedRecipe, framing: int) -> str:
    """What an artifact of this recipe is called."""
    return artifact_file_name(recipe.model_id, recipe.weights_id, framing, recipe_id=recipe.id)


def _portable(name: str) -> str:
    return _UNPORTABLE.sub("-", name[:_MAX_NAME])
