"""The configs of the published models, for files whose checkpoint is not at hand (container-v3.md, 6 and 14)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from schemas.errors import ArchitectureError, Fault
from workers.engine.architectures.architecture import Config, Configs
from workers.engine.architectures.binary32 import to_binary32
from workers.engine.architectures.qwen3_5.components import DENSE, DRAFT_CLASSES, MOE, Family
from workers.engine.architectures.qwen3_5.geometry import FULL_ATTENTION, LINEAR_ATTENTION, SLIDING_ATTENTION
from workers.engine.container.model_description import ConfigValue

_EPSILON = to_binary32(1e-6)
_THETA = to_binary32(1e7)
_POSITIONS = 262_144


@dataclass(frozen=True, slots=True)
class _Sizes:
    """In which the published text models differ."""

    family: Family
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    linear_value_heads: int
    mlp: Mapping[str, ConfigValue]


_27B = _Sizes(DENSE, 5120, 64, 24, 4, 48, {"intermediate_size": 17_408})
_35B = _Sizes(
    MOE,
    2048,
    40,
    16,
    2,
    32,
    {
        "num_experts": 256,
        "num_experts_per_tok": 8,
        "moe_intermediate_size": 512,
        "shared_expert_intermediate_size": 512,
    },
)


def _base(sizes: _Sizes) -> dict[str, Config]:
    full = range(3, sizes.layers, 4)
    text: dict[str, ConfigValue] = {
        "architectures": [sizes.family.text_class],
        "model_type": sizes.family.text_model_type,
        "hidden_size": sizes.hidden,
        "vocab_size": 248_320,
        "num_hidden_layers": sizes.layers,
        "max_position_embeddings": _POSITIONS,
        "tie_word_embeddings": False,
        "rms_norm_eps": _EPSILON,
        "layer_types": [FULL_ATTENTION if layer in full else LINEAR_ATTENTION for layer in range(sizes.layers)],
        "num_attention_heads": sizes.heads,
        "num_key_value_heads": sizes.kv_heads,
        "head_dim": 256,
        "rope_parameters": {
            "rope_theta": _THETA,
            "partial_rotary_factor": 0.25,
            "mrope_section": [11, 11, 10],
        },
        "linear_num_key_heads": 16,
        "linear_key_head_dim": 128,
        "linear_num_value_heads": sizes.linear_value_heads,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
        **sizes.mlp,
    }
    vision: dict[str, ConfigValue] = {
        "model_type": sizes.family.vision_model_type,
        "depth": 27,
        "hidden_size": 1152,
        "intermediate_size": 4304,
        "num_heads": 16,
        "patch_size": 16,
        "temporal_patch_size": 2,
        "spatial_merge_size": 2,
        "num_position_embeddings": 2304,
    }
    return {"text": text, "vision": vision, "mtp": {"architectures": [sizes.family.mtp_class]}}


def _draft(
    component: str, intermediate: int, layer_types: list[ConfigValue], window: int, own: dict[str, ConfigValue]
) -> dict[str, Config]:
    config: dict[str, ConfigValue] = {
        "architectures": [DRAFT_CLASSES[component]],
        "model_type": "qwen3",
        "intermediate_size": intermediate,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "num_hidden_layers": len(layer_types),
        "max_position_embeddings": _POSITIONS,
        "rms_norm_eps": _EPSILON,
        "rope_parameters": {"rope_theta": _THETA},
        "layer_types": layer_types,
        "sliding_window": window,
        "dflash_config": own,
    }
    return {component: config}


_DFLASH = _draft(
    "dflash",
    6144,
    [*[SLIDING_ATTENTION] * 5, FULL_ATTENTION],
    4096,
    {"target_layer_ids": [1, 6, 11, 16, 22, 27, 32, 37], "mask_token_id": 248_077},
)
_DFLASH2 = _draft(
    "dflash2",
    17_408,
    [SLIDING_ATTENTION] * 5,
    2048,
    {
        "target_layer_ids": [5, 19, 33, 47, 61],
        "mask_token_id": 248_070,
        "conv_kernel_size": 2,
        "conv_group_size": 16,
        "selector_rank": 256,
        "selector_top_k": 16,
    },
)

_PUBLISHED: Mapping[str, Configs] = MappingProxyType(
    {
        "qwen3.6-27b": _base(_27B),
        "qwen3.8-27b": {**_base(_27B), **_DFLASH2},
        "qwen3.6-35b-a3b": {**_base(_35B), **_DFLASH},
    }
)


def published_configs(model_id: str, offered: Sequence[str]) -> Configs:
    """The configs of the offered components of a published model.

    Raises ArchitectureError for a model, or components of it, that were never published.
    """
    faults = list(_faults(model_id, offered))
    if faults:
        raise ArchitectureError(f"model {model_id!r}", faults, expected="a published model of architecture qwen3_5")
    return {component: _PUBLISHED[model_id][component] for component in offered}


def _faults(model_id: str, offered: Sequence[str]) -> Iterator[Fault]:
    known = _PUBLISHED.get(model_id)
    if known is None:
        yield Fault("/model_id", f"expected one of {', '.join(_PUBLISHED)}, found {model_id!r}")
        return
    for component in offered:
        if component not in known:
            yield Fault("", f"expected components among {', '.join(known)}, found {component!r}")
