"""Which parameters an object of an inventory name holds, one after the other along its rows (container-v3.md, 8)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

Fused = Mapping[str, tuple[str, ...]]

_BLOCK: Fused = MappingProxyType(
    {
        "attention/query_key": ("attention/query", "attention/key"),
        "attention/gate_value": ("attention/gate", "attention/value"),
        "attention/query_key_gate_value": ("attention/query", "attention/key", "attention/gate", "attention/value"),
        "gdn/query_key": ("gdn/query", "gdn/key"),
        "gdn/value_z": ("gdn/value", "gdn/z"),
        "gdn/query_key_value_z": ("gdn/query", "gdn/key", "gdn/value", "gdn/z"),
        "gdn/a_b_projection": ("gdn/a_projection", "gdn/b_projection"),
        "mlp/gate_up": ("mlp/gate", "mlp/up"),
        "moe/router_shared_gate": ("moe/router", "moe/shared_score"),
        "moe/shared_gate_up": ("moe/shared/gate", "moe/shared/up"),
        "moe/shared_down": ("moe/shared/down",),
    }
)
_BANKS: Fused = MappingProxyType({"moe/routed_gate_up": ("gate", "up"), "moe/routed_down": ("down",)})
"""Objects over all experts, expert by expert."""

_VISION: Fused = MappingProxyType(
    {
        "attention/qkv": ("attention/query", "attention/key", "attention/value"),
        "attention/qkv_bias": ("attention/query_bias", "attention/key_bias", "attention/value_bias"),
        "norm1/weight": ("norm1_weight",),
        "norm1/bias": ("norm1_bias",),
        "norm2/weight": ("norm2_weight",),
        "norm2/bias": ("norm2_bias",),
    }
)
_DRAFT: Fused = MappingProxyType(
    {
        "attention/query_key_value": ("attention/query", "attention/key", "attention/value"),
        "mlp/gate_up": ("mlp/gate", "mlp/up"),
    }
)
_ALONE: Fused = MappingProxyType(
    {
        "text/draft_head": ("proposal/head",),
        "text/draft_head_token_ids": ("proposal/token_ids",),
        "vision/merger/norm/weight": ("vision/merger/norm_weight",),
        "vision/merger/norm/bias": ("vision/merger/norm_bias",),
    }
)

DRAFT_HEAD = "text/draft_head"
DRAFT_HEAD_IDS = "text/draft_head_token_ids"

SHARED_CONTEXT: Mapping[str, str] = MappingProxyType(
    {"attention/context_key": "attention/key", "attention/context_value": "attention/value"}
)
"""Parameters of a draft layer that share what holds another one, unless an object of their own holds them."""

_DIVISOR = "/input_scale_divisor"
_SITES: Fused = MappingProxyType(
    {
        "attention/input_projection": _BLOCK["attention/query_key_gate_value"],
        "gdn/input_projection": _BLOCK["gdn/query_key_value_z"],
        "attention/output_projection": ("attention/output",),
        "gdn/output_projection": ("gdn/output",),
        "mlp/gate_up_projection": _BLOCK["mlp/gate_up"],
        "mlp/down_projection": ("mlp/down",),
    }
)

_LAYER = re.compile(r"((text|vision|dflash2?)/layers/[0-9]+/|(mtp)/layer/)(.+)")
_TABLES: Mapping[str, Fused] = MappingProxyType(
    {"text": _BLOCK, "mtp": _BLOCK, "vision": _VISION, "dflash": _DRAFT, "dflash2": _DRAFT}
)
_PARAMETERS_ONLY = ("mtp/layers/", "proposal/")
"""Where parameters are named as no object is."""


def held_parameters(name: str, experts: int) -> tuple[str, ...]:
    """The parameters that an object of this name would hold, were they to exist; none for a name that no object has."""
    layer = _layer(name)
    if layer is None:
        return () if name.startswith(_PARAMETERS_ONLY) else _ALONE.get(name, (name,))
    component, prefix, suffix = layer
    table = _TABLES[component]
    if table is _BLOCK and suffix in _BANKS:
        return tuple(_bank(prefix, _BANKS[suffix], experts))
    return tuple(f"{prefix}{member}" for member in table.get(suffix, (suffix,)))


def divided_parameters(name: str) -> tuple[str, ...] | None:
    """The parameters whose activations a scalar of this name divides; None for the name of no scalar."""
    if not name.endswith(_DIVISOR):
        return None
    layer = _layer(name)
    if layer is None or _TABLES[layer[0]] is not _BLOCK:
        return None
    _, prefix, suffix = layer
    site = _SITES.get(suffix.removesuffix(_DIVISOR))
    return None if site is None else tuple(f"{prefix}{member}" for member in site)


def _layer(name: str) -> tuple[str, str, str] | None:
    """Component, prefix of its parameters' names, and the rest of the name."""
    match = _LAYER.fullmatch(name)
    if match is None:
        return None
    prefix, component, mtp, suffix = match.groups()
    return (mtp, "mtp/layers/0/", suffix) if mtp else (component, prefix, suffix)


def _bank(prefix: str, members: tuple[str, ...], experts: int) -> Iterator[str]:
    for expert in range(experts):
        for member in members:
            yield f"{prefix}moe/experts/{expert}/{member}"
