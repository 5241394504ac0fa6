"""The five registered targets with the checkpoints that they are made from, as published and small."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from schemas.recipe.expanded import ExpandedRecipe
from tests.targets.sizes import DENSE, MOE, Sizes
from workers.engine.miniature import TARGET_IDS
from workers.engine.miniature.headers import (
    Headers,
    dense_headers,
    dflash_headers,
    mixed_headers,
    moe_headers,
    nvfp4_headers,
)
from workers.engine.miniature.target_checkpoints import target_checkpoints, target_sizes
from workers.engine.recipe.inference import TypedObject, infer_recipe
from workers.engine.recipe.registered import load_registered

IDS = TARGET_IDS


@dataclass(frozen=True, slots=True)
class Target:
    """A registered recipe, expanded, and the tensors of its checkpoints by source."""

    recipe: ExpandedRecipe
    headers: Mapping[str, Headers]
    sizes: Sizes

    def typed(self) -> tuple[TypedObject, ...]:
        """The recipe's objects with shapes and dtypes inferred from the headers."""
        return infer_recipe(self.recipe, lambda source, tensor: self.headers[source].get(tensor))


@cache
def published(id: str) -> Target:
    """A target as it is."""
    match id:
        case "qwen3.6-35b-a3b.groupwise-int":
            return Target(load_registered(id), {"base": moe_headers(MOE), "dflash": dflash_headers(MOE)}, MOE)
        case "qwen3.6-27b.nvfp4":
            headers = {"base": dense_headers(DENSE), "quantized": nvfp4_headers(DENSE)}
        case "qwen3.8-27b.nvfp4":
            headers = {"base": dense_headers(DENSE), "quantized": mixed_headers(DENSE, nvfp4_mlps=56)}
        case _:
            headers = {"base": dense_headers(DENSE)}
    return Target(load_registered(id), headers, DENSE)


@cache
def small(id: str) -> Target:
    """A target with every size overridden: that of its miniature."""
    let = target_sizes(id)
    headers = {source: checkpoint.headers for source, checkpoint in target_checkpoints(id, let).items()}
    return Target(load_registered(id, let=let), headers, let)
