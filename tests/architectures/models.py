"""Models to describe: the inventories, the 1190-object one with dflash2, and one of a few layers with experts.

Objects, configs and checkpoint documents are written out here from targets.md and container-v3.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from schemas.registry import FORMATS, Format
from workers.engine.architectures.architecture import Configs, NamedTensor
from workers.engine.architectures.registered import ARCHITECTURES
from workers.engine.container.directory import TensorObject
from workers.engine.container.model_description import ModelDescription
from workers.engine.recipe.inventory import load_inventory

QWEN3_5 = ARCHITECTURES["qwen3_5"]

DENSE_27B = "qwen3.6-27b/groupwise-int"
NVFP4_27B = "qwen3.6-27b/nvfp4"
MOE_35B = "qwen3.6-35b-a3b/groupwise-int"
DENSE_38 = "qwen3.8-27b/groupwise-int"
NVFP4_38 = "qwen3.8-27b/nvfp4"
TARGETS = (DENSE_27B, NVFP4_27B, MOE_35B, DENSE_38, NVFP4_38)


@dataclass(frozen=True, slots=True)
class Model:
    """What `describe` takes."""

    tensors: tuple[NamedTensor, ...]
    resources: tuple[str, ...]
    configs: Configs

    def describe(self) -> ModelDescription:
        return QWEN3_5.describe(self.tensors, self.resources, self.configs)

    def objects(self) -> dict[str, TensorObject]:
        """The tensor objects of a file of this model, by id. Nothing here looks at where they lie."""
        return {one.name: stored(one.name, one.shape, one.format) for one in self.tensors}

    def without(self, pattern: str) -> Model:
        """The model less the tensors whose name begins with a match."""
        return replace(self, tensors=tuple(one for one in self.tensors if not re.match(pattern, one.name)))

    def with_tensor(self, name: str, shape: tuple[int, ...], format: Format) -> Model:
        """The model with one tensor more."""
        return replace(self, tensors=(*self.tensors, NamedTensor(name, shape, format, "/objects/new")))

    def changed(self, name: str, change: Callable[[NamedTensor], NamedTensor]) -> Model:
        """The model with one tensor changed."""
        assert any(one.name == name for one in self.tensors)
        return replace(self, tensors=tuple(change(one) if one.name == name else one for one in self.tensors))

    def less(self, *components: str) -> Model:
        """The model without these components."""
        rest = {name: config for name, config in self.configs.items() if name not in components}
        resources = tuple(one for one in self.resources if "vision" not in components or "processor" not in one)
        cut = self.without(f"({'|'.join(components)})/")
        return replace(cut, configs=rest, resources=resources)


def stored(name: str, shape: tuple[int, ...], format: Format) -> TensorObject:
    return TensorObject(name, shape, format, FORMATS[format].layout, 0, 1)


@cache
def model(target: str) -> Model:
    """A registered target, as its inventory lists it."""
    inventory = load_inventory(target)
    tensors = tuple(
        NamedTensor(one.name, one.shape, one.format, f"/objects/{index}") for index, one in enumerate(inventory.tensors)
    )
    offered = QWEN3_5.offered_components([one.name for one in tensors])
    return Model(tensors, inventory.resources, QWEN3_5.published_configs(inventory.model_id, offered))


@cache
def described(target: str) -> ModelDescription:
    return model(target).describe()


@cache
def model_with_dflash2(target: str) -> Model:
    """A target of 3.8-27B with the 66 objects of dflash2."""
    plain = model(target)
    tensors = tuple(
        NamedTensor(name, shape, format, f"/objects/{len(plain.tensors) + index}")
        for index, (name, shape, format) in enumerate(dflash2_objects())
    )
    assert len(tensors) == 66
    offered = ("text", "vision", "mtp", "dflash2")
    return Model((*plain.tensors, *tensors), plain.resources, QWEN3_5.published_configs("qwen3.8-27b", offered))


def dflash2_objects() -> Iterator[tuple[str, tuple[int, ...], Format]]:
    """targets.md, DFlash2."""
    hidden, q8, bf16 = 5120, Format.W8G32_F16S, Format.BF16
    yield "dflash2/feature_projection", (hidden, 25600), q8
    yield "dflash2/context_norm", (hidden,), bf16
    for layer in range(5):
        p = f"dflash2/layers/{layer}/"
        yield f"{p}input_norm", (hidden,), bf16
        yield f"{p}attention_conv/base_kernel", (2, 2, hidden), bf16
        yield f"{p}attention_conv/kernel_projection", (1280, hidden), bf16
        yield f"{p}attention/query_key_value", (6144, hidden), q8
        yield f"{p}attention/query_norm", (128,), bf16
        yield f"{p}attention/key_norm", (128,), bf16
        yield f"{p}attention/output", (hidden, 4096), q8
        yield f"{p}post_attention_norm", (hidden,), bf16
        yield f"{p}mlp_conv/base_kernel", (2, 2, hidden), bf16
        yield f"{p}mlp_conv/kernel_projection", (1280, hidden), bf16
        yield f"{p}mlp/gate_up", (34816, hidden), q8
        yield f"{p}mlp/down", (hidden, 17408), q8
    yield "dflash2/final_norm", (hidden,), bf16
    yield "dflash2/candidate_selector/hidden_projection", (256, hidden), bf16
    yield "dflash2/candidate_selector/predecessor_codebook", (248320, 256), bf16
    yield "dflash2/candidate_selector/successor_codebook", (248320, 256), bf16


LAYERS = 4
EXPERTS = 6


@cache
def few_layers() -> Model:
    """35B-A3B of four layers and six experts, with two layers of vision and one of dflash, which looks at two."""
    whole = model(MOE_35B)
    kept = re.compile(r"(text/layers/[0-3]|vision/layers/[01]|dflash/layers/0)/|(?!.*/layers/)")
    shapes = {
        "moe/router_shared_gate": (EXPERTS + 1, 2048),
        "moe/routed_gate_up": (EXPERTS * 1024, 2048),
        "moe/routed_down": (EXPERTS * 2048, 512),
        "dflash/feature_projection": (2048, 4096),
    }
    tensors = tuple(
        replace(one, shape=next((shape for end, shape in shapes.items() if one.name.endswith(end)), one.shape))
        for one in whole.tensors
        if kept.match(one.name)
    )
    configs: dict[str, dict[str, Any]] = {name: dict(config) for name, config in whole.configs.items()}
    configs["text"] |= {"num_hidden_layers": LAYERS, "num_experts": EXPERTS, "num_experts_per_tok": 2}
    configs["text"]["layer_types"] = ["linear_attention"] * 3 + ["full_attention"]
    configs["vision"]["depth"] = 2
    configs["dflash"] |= {"num_hidden_layers": 1, "layer_types": ["full_attention"]}
    del configs["dflash"]["sliding_window"]
    configs["dflash"]["dflash_config"] = {"target_layer_ids": [1, 3], "mask_token_id": 7}
    return Model(tensors, whole.resources, configs)


def checkpoint_27b() -> dict[str, Any]:
    """The config.json of Qwen3.6-27B, as far as it matters."""
    return {
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "model_type": "qwen3_5",
        "tie_word_embeddings": False,
        "text_config": {
            "attention_bias": False,
            "attn_output_gate": True,
            "full_attention_interval": 4,
            "head_dim": 256,
            "hidden_act": "silu",
            "hidden_size": 5120,
            "intermediate_size": 17408,
            "linear_conv_kernel_dim": 4,
            "linear_key_head_dim": 128,
            "linear_num_key_heads": 16,
            "linear_num_value_heads": 48,
            "linear_value_head_dim": 128,
            "mamba_ssm_dtype": "float32",
            "max_position_embeddings": 262144,
            "model_type": "qwen3_5_text",
            "mtp_num_hidden_layers": 1,
            "mtp_use_dedicated_embeddings": False,
            "num_attention_heads": 24,
            "num_hidden_layers": 64,
            "num_key_value_heads": 4,
            "rms_norm_eps": 1e-06,
            "rope_parameters": {
                "mrope_interleaved": True,
                "mrope_section": [11, 11, 10],
                "partial_rotary_factor": 0.25,
                "rope_theta": 10000000,
                "rope_type": "default",
            },
            "vocab_size": 248320,
        },
        "vision_config": {
            "deepstack_visual_indexes": [],
            "depth": 27,
            "hidden_act": "gelu_pytorch_tanh",
            "hidden_size": 1152,
            "in_channels": 3,
            "intermediate_size": 4304,
            "model_type": "qwen3_5",
            "num_heads": 16,
            "num_position_embeddings": 2304,
            "out_hidden_size": 5120,
            "patch_size": 16,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
        },
    }


def checkpoint_35b() -> dict[str, Any]:
    """The config.json of Qwen3.6-35B-A3B."""
    document = checkpoint_27b()
    document |= {"architectures": ["Qwen3_5MoeForConditionalGeneration"], "model_type": "qwen3_5_moe"}
    text = document["text_config"]
    del text["intermediate_size"]
    text |= {
        "hidden_size": 2048,
        "model_type": "qwen3_5_moe_text",
        "num_attention_heads": 16,
        "num_hidden_layers": 40,
        "num_key_value_heads": 2,
        "linear_num_value_heads": 32,
        "num_experts": 256,
        "num_experts_per_tok": 8,
        "moe_intermediate_size": 512,
        "shared_expert_intermediate_size": 512,
    }
    document["vision_config"] |= {"model_type": "qwen3_5_moe", "out_hidden_size": 2048}
    return document


def checkpoint_dflash() -> dict[str, Any]:
    """The config.json of Qwen3.6-35B-A3B-DFlash, with its rotary parameters told in the older way."""
    return {
        "architectures": ["DFlashDraftModel"],
        "attention_bias": False,
        "dflash_config": {"mask_token_id": 248077, "target_layer_ids": [1, 6, 11, 16, 22, 27, 32, 37]},
        "head_dim": 128,
        "hidden_act": "silu",
        "hidden_size": 2048,
        "intermediate_size": 6144,
        "is_causal": False,
        "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
        "max_position_embeddings": 262144,
        "model_type": "qwen3",
        "num_attention_heads": 32,
        "num_hidden_layers": 6,
        "num_key_value_heads": 8,
        "num_target_layers": 40,
        "rms_norm_eps": 1e-06,
        "rope_scaling": None,
        "rope_theta": 10000000,
        "sliding_window": 4096,
        "vocab_size": 248320,
    }


def checkpoint_dflash2() -> dict[str, Any]:
    """The config.json of the dflash2 draft of 3.8-27B."""
    document = checkpoint_dflash()
    del document["rope_theta"], document["rope_scaling"]
    return document | {
        "architectures": ["DFlash2DraftModel"],
        "dflash_config": {
            "conv_group_size": 16,
            "conv_kernel_size": 2,
            "mask_token_id": 248070,
            "selector_rank": 256,
            "selector_top_k": 16,
            "target_layer_ids": [5, 19, 33, 47, 61],
        },
        "hidden_size": 5120,
        "intermediate_size": 17408,
        "layer_types": ["sliding_attention"] * 5,
        "num_hidden_layers": 5,
        "num_target_layers": 64,
        "rope_parameters": {"rope_theta": 10000000, "rope_type": "default"},
        "sliding_window": 2048,
    }


def documents(offered: tuple[str, ...], base: Mapping[str, Any], draft: Mapping[str, Any]) -> dict[str, Any]:
    """The base's config.json for the components that come from it, the draft's for its own."""
    return {name: draft if name.startswith("dflash") else base for name in offered}
