"""config.json of the checkpoints: what it says of the model and of its linears' storage."""

from __future__ import annotations

from collections.abc import Mapping

from workers.engine.miniature.headers import is_full
from workers.engine.miniature.sizes import VISION_HEADS, Sizes

POSITIONS = 4096
ROTARY = 0.5
EPSILON = 1e-6
THETA = 10_000_000

Config = dict[str, object]


def dense_config(s: Sizes) -> Config:
    """That of a model whose layers have one MLP each."""
    return _config("Qwen3_5", "qwen3_5", s, {"intermediate_size": s["I"]})


def experts_config(s: Sizes) -> Config:
    """That of a model with routed experts."""
    experts = {
        "num_experts": s["experts"],
        "num_experts_per_tok": s["chosen"],
        "moe_intermediate_size": s["E"],
        "shared_expert_intermediate_size": s["S"],
    }
    return _config("Qwen3_5Moe", "qwen3_5_moe", s, experts)


def draft_config(s: Sizes) -> Config:
    """That of the DFlash model: it reads the hidden states behind some of the target's layers."""
    step = s["layers"] // s["taps"]
    return {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "dtype": "bfloat16",
        "hidden_size": s["H"],
        "vocab_size": s["vocab"],
        "num_target_layers": s["layers"],
        "intermediate_size": s["dI"],
        "num_attention_heads": s["dN"],
        "num_key_value_heads": s["dKN"],
        "head_dim": s["dD"],
        "num_hidden_layers": s["d_layers"],
        "max_position_embeddings": POSITIONS,
        "rms_norm_eps": EPSILON,
        "rope_theta": THETA,
        "layer_types": ["sliding_attention"] * (s["d_layers"] - 1) + ["full_attention"],
        "sliding_window": 16,
        "use_sliding_window": True,
        "dflash_config": {
            "target_layer_ids": [tap * step + 1 for tap in range(s["taps"])],
            "mask_token_id": s["domain"],
        },
        "hidden_act": "silu",
        "attention_bias": False,
        "is_causal": False,
        "tie_word_embeddings": False,
    }


def _config(architecture: str, model_type: str, s: Sizes, feed_forward: Mapping[str, int]) -> Config:
    return {
        "architectures": [f"{architecture}ForConditionalGeneration"],
        "model_type": model_type,
        "tie_word_embeddings": False,
        "image_token_id": s["domain"] - 1,
        "text_config": _text_config(f"{model_type}_text", s, feed_forward),
        "vision_config": _vision_config(model_type, s),
    }


def _text_config(model_type: str, s: Sizes, feed_forward: Mapping[str, int]) -> Config:
    return {
        "model_type": model_type,
        "dtype": "bfloat16",
        "hidden_size": s["H"],
        "vocab_size": s["vocab"],
        "num_hidden_layers": s["layers"],
        "max_position_embeddings": POSITIONS,
        "rms_norm_eps": EPSILON,
        "full_attention_interval": s["every"],
        "layer_types": ["full_attention" if is_full(layer, s) else "linear_attention" for layer in range(s["layers"])],
        "num_attention_heads": s["N"],
        "num_key_value_heads": s["KN"],
        "head_dim": s["D"],
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": THETA,
            "partial_rotary_factor": ROTARY,
            "mrope_section": mrope_sections(int(s["D"] * ROTARY) // 2),
            "mrope_interleaved": True,
        },
        "linear_num_key_heads": s["gKN"],
        "linear_key_head_dim": s["gD"],
        "linear_num_value_heads": s["gN"],
        "linear_value_head_dim": s["gD"],
        "linear_conv_kernel_dim": s["kernel"],
        **feed_forward,
        "hidden_act": "silu",
        "attention_bias": False,
        "attn_output_gate": True,
        "mamba_ssm_dtype": "float32",
        "mtp_num_hidden_layers": 1,
        "mtp_use_dedicated_embeddings": False,
        "tie_word_embeddings": False,
    }


def mrope_sections(pairs: int) -> list[int]:
    """How many pairs turn with time, height and width: they take turns, time first."""
    return [len(range(axis, pairs, 3)) for axis in range(3)]


def _vision_config(model_type: str, s: Sizes) -> Config:
    return {
        "model_type": model_type,
        "depth": s["v_layers"],
        "hidden_size": s["vH"],
        "intermediate_size": s["vI"],
        "num_heads": s.get("vN", VISION_HEADS),
        "patch_size": s["patch"],
        "temporal_patch_size": s["frames"],
        "spatial_merge_size": s["merge"],
        "num_position_embeddings": s["positions"],
        "in_channels": 3,
        "hidden_act": "gelu_pytorch_tanh",
        "deepstack_visual_indexes": [],
        "out_hidden_size": s["H"],
    }
