"""The five registered targets with the checkpoints that they are made from, as published and small."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from schemas.recipe.expanded import ExpandedRecipe
from tests.targets.headers import (
    Headers,
    dense_headers,
    dflash_headers,
    mixed_headers,
    moe_headers,
    nvfp4_headers,
)
from tests.targets.sizes import DENSE, MOE, SMALL_DENSE, SMALL_MOE, Sizes
from workers.engine.recipe.inference import TypedObject, infer_recipe
from workers.engine.recipe.registered import load_registered

IDS = (
    "qwen3.6-27b.groupwise-int",
    "qwen3.6-27b.nvfp4",
    "qwen3.6-35b-a3b.groupwise-int",
    "qwen3.8-27b.groupwise-int",
    "qwen3.8-27b.nvfp4",
)
_KEPT_LAYERS = 28
"""Layers of 3.6 nvfp4 until each of its projections was once left in BF16 and once not."""


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
    sizes = MOE if id == "qwen3.6-35b-a3b.groupwise-int" else DENSE
    return Target(load_registered(id), _headers(id, sizes, nvfp4_mlps=56), sizes)


@cache
def small(id: str) -> Target:
    """A target with every size overridden."""
    sizes = SMALL_MOE if id == "qwen3.6-35b-a3b.groupwise-int" else SMALL_DENSE
    let = dict(sizes)
    if id == "qwen3.6-27b.nvfp4":
        let["layers"] = _KEPT_LAYERS
    if id == "qwen3.8-27b.nvfp4":
        let["nvfp4_mlps"] = 6
    return Target(load_registered(id, let=let), _headers(id, let, nvfp4_mlps=6), let)


def _headers(id: str, sizes: Sizes, *, nvfp4_mlps: int) -> Mapping[str, Headers]:
    match id:
        case "qwen3.6-35b-a3b.groupwise-int":
            return {"base": moe_headers(sizes), "dflash": dflash_headers(sizes)}
        case "qwen3.6-27b.nvfp4":
            return {"base": dense_headers(sizes), "quantized": nvfp4_headers(sizes)}
        case "qwen3.8-27b.nvfp4":
            return {"base": dense_headers(sizes), "quantized": mixed_headers(sizes, nvfp4_mlps)}
        case _:
            return {"base": dense_headers(sizes)}
