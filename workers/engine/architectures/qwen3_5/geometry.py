"""The sizes that component configs give, under the names by which the parameter table speaks of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workers.engine.architectures.architecture import Configs
from workers.engine.architectures.qwen3_5.components import DRAFTS

FULL_ATTENTION = "full_attention"
LINEAR_ATTENTION = "linear_attention"
SLIDING_ATTENTION = "sliding_attention"

IMAGE_CHANNELS = 3


@dataclass(frozen=True, slots=True)
class Attention:
    """Rows of the query (and gate) and of the key (and value) projection, and the width of a head."""

    query: int
    key: int
    head: int


@dataclass(frozen=True, slots=True)
class Linear:
    """Rows of the key (and query) and of the value (and z) projection, value heads, their width, convolution taps."""

    key: int
    value: int
    heads: int
    head: int
    taps: int


@dataclass(frozen=True, slots=True)
class DenseMlp:
    intermediate: int


@dataclass(frozen=True, slots=True)
class Experts:
    count: int
    routed: int
    shared: int


@dataclass(frozen=True, slots=True)
class Text:
    """`attention` and `linear` are None where no layer, and no MTP, has them."""

    hidden: int
    vocabulary: int
    layer_types: tuple[str, ...]
    attention: Attention | None
    linear: Linear | None
    mlp: DenseMlp | Experts


@dataclass(frozen=True, slots=True)
class Vision:
    """`patch` is one patch of all channels and frames, `merged` what the merger sees of neighbouring patches."""

    depth: int
    hidden: int
    intermediate: int
    positions: int
    patch: int
    merged: int


@dataclass(frozen=True, slots=True)
class Selector:
    """What dflash2 has beyond dflash: taps and group of its convolutions, and the rank of its candidate selector."""

    taps: int
    group: int
    rank: int


@dataclass(frozen=True, slots=True)
class Draft:
    """`features` is the number of target layers that the draft looks at."""

    layers: int
    attention: Attention
    intermediate: int
    features: int
    selector: Selector | None


@dataclass(frozen=True, slots=True)
class Geometry:
    text: Text
    mtp: bool
    vision: Vision | None
    drafts: Mapping[str, Draft]


def geometry(configs: Configs) -> Geometry:
    """The sizes of configs in which `config_faults` finds no fault."""
    vision = configs.get("vision")
    return Geometry(
        _text(configs["text"]),
        "mtp" in configs,
        None if vision is None else _vision(vision),
        {draft: _draft(configs[draft]) for draft in DRAFTS if draft in configs},
    )


def _text(config: Mapping[str, Any]) -> Text:
    mlp = (
        Experts(config["num_experts"], config["moe_intermediate_size"], config["shared_expert_intermediate_size"])
        if "num_experts" in config
        else DenseMlp(config["intermediate_size"])
    )
    return Text(
        config["hidden_size"],
        config["vocab_size"],
        tuple(config["layer_types"]),
        _attention(config) if "head_dim" in config else None,
        _linear(config) if "linear_value_head_dim" in config else None,
        mlp,
    )


def _attention(config: Mapping[str, Any]) -> Attention:
    head = config["head_dim"]
    return Attention(config["num_attention_heads"] * head, config["num_key_value_heads"] * head, head)


def _linear(config: Mapping[str, Any]) -> Linear:
    heads, head = config["linear_num_value_heads"], config["linear_value_head_dim"]
    key = config["linear_num_key_heads"] * config["linear_key_head_dim"]
    return Linear(key, heads * head, heads, head, config["linear_conv_kernel_dim"])


def _vision(config: Mapping[str, Any]) -> Vision:
    hidden = config["hidden_size"]
    return Vision(
        config["depth"],
        hidden,
        config["intermediate_size"],
        config["num_position_embeddings"],
        IMAGE_CHANNELS * config["temporal_patch_size"] * config["patch_size"] ** 2,
        hidden * config["spatial_merge_size"] ** 2,
    )


def _draft(config: Mapping[str, Any]) -> Draft:
    own: Mapping[str, Any] = config["dflash_config"]
    selector = (
        Selector(own["conv_kernel_size"], own["conv_group_size"], own["selector_rank"])
        if "selector_rank" in own
        else None
    )
    return Draft(
        config["num_hidden_layers"],
        _attention(config),
        config["intermediate_size"],
        len(own["target_layer_ids"]),
        selector,
    )
