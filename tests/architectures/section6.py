"""The configs of the official models, member by member, from the tables of container-v3.md, 6."""

from __future__ import annotations

from typing import Any

EPSILON = 9.999999974752427e-07
LINEAR, FULL, SLIDING = "linear_attention", "full_attention", "sliding_attention"

TEXT_27B: dict[str, Any] = {
    "architectures": ["Qwen3_5ForCausalLM"],
    "model_type": "qwen3_5_text",
    "hidden_size": 5120,
    "vocab_size": 248320,
    "num_hidden_layers": 64,
    "max_position_embeddings": 262144,
    "tie_word_embeddings": False,
    "rms_norm_eps": EPSILON,
    "layer_types": [LINEAR, LINEAR, LINEAR, FULL] * 16,
    "num_attention_heads": 24,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "rope_parameters": {"rope_theta": 10000000.0, "partial_rotary_factor": 0.25, "mrope_section": [11, 11, 10]},
    "linear_num_key_heads": 16,
    "linear_key_head_dim": 128,
    "linear_num_value_heads": 48,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
    "intermediate_size": 17408,
}
TEXT_35B: dict[str, Any] = {
    **{name: value for name, value in TEXT_27B.items() if name != "intermediate_size"},
    "architectures": ["Qwen3_5MoeForCausalLM"],
    "model_type": "qwen3_5_moe_text",
    "hidden_size": 2048,
    "num_hidden_layers": 40,
    "layer_types": [LINEAR, LINEAR, LINEAR, FULL] * 10,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "linear_num_value_heads": 32,
    "num_experts": 256,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 512,
    "shared_expert_intermediate_size": 512,
}
VISION_27B: dict[str, Any] = {
    "model_type": "qwen3_5_vision",
    "depth": 27,
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_heads": 16,
    "patch_size": 16,
    "temporal_patch_size": 2,
    "spatial_merge_size": 2,
    "num_position_embeddings": 2304,
}
VISION_35B: dict[str, Any] = {**VISION_27B, "model_type": "qwen3_5_moe_vision"}
MTP_27B: dict[str, Any] = {"architectures": ["Qwen3_5MTP"]}
MTP_35B: dict[str, Any] = {"architectures": ["Qwen3_5MoeMTP"]}
DFLASH: dict[str, Any] = {
    "architectures": ["DFlashDraftModel"],
    "model_type": "qwen3",
    "intermediate_size": 6144,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "num_hidden_layers": 6,
    "max_position_embeddings": 262144,
    "rms_norm_eps": EPSILON,
    "rope_parameters": {"rope_theta": 10000000.0},
    "layer_types": [SLIDING, SLIDING, SLIDING, SLIDING, SLIDING, FULL],
    "sliding_window": 4096,
    "dflash_config": {"target_layer_ids": [1, 6, 11, 16, 22, 27, 32, 37], "mask_token_id": 248077},
}
DFLASH2: dict[str, Any] = {
    **DFLASH,
    "architectures": ["DFlash2DraftModel"],
    "intermediate_size": 17408,
    "num_hidden_layers": 5,
    "layer_types": [SLIDING, SLIDING, SLIDING, SLIDING, SLIDING],
    "sliding_window": 2048,
    "dflash_config": {
        "target_layer_ids": [5, 19, 33, 47, 61],
        "mask_token_id": 248070,
        "conv_kernel_size": 2,
        "conv_group_size": 16,
        "selector_rank": 256,
        "selector_top_k": 16,
    },
}

CONFIGS: dict[str, dict[str, dict[str, Any]]] = {
    "qwen3.6-27b": {"text": TEXT_27B, "vision": VISION_27B, "mtp": MTP_27B},
    "qwen3.8-27b": {"text": TEXT_27B, "vision": VISION_27B, "mtp": MTP_27B, "dflash2": DFLASH2},
    "qwen3.6-35b-a3b": {"text": TEXT_35B, "vision": VISION_35B, "mtp": MTP_35B, "dflash": DFLASH},
}
