"""Names, dtypes and shapes of the tensors in the checkpoints of targets.md, at any size."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.targets.sizes import Sizes
from workers.engine.recipe.inference import TensorType

Headers = Mapping[str, TensorType]

TEXT = "model.language_model."
GDN_LINEARS = ("in_proj_qkv", "in_proj_z", "out_proj")
ATTENTION_LINEARS = ("q_proj", "k_proj", "v_proj", "o_proj")
MLP_LINEARS = ("gate_proj", "up_proj", "down_proj")
_LISTED = Path(__file__).parents[1] / "data" / "sources" / "qwen3.6-27b.json"


def listed_headers() -> Headers:
    """The 1199 tensors of Qwen3.6-27B."""
    listed: dict[str, tuple[str, list[int]]] = json.loads(_LISTED.read_text(encoding="utf-8"))
    return {name: TensorType(dtype, tuple(shape)) for name, (dtype, shape) in listed.items()}


def dense_headers(s: Sizes) -> Headers:
    """A checkpoint whose layers have one MLP each."""
    mlp = {
        "mlp.gate_proj.weight": (s["I"], s["H"]),
        "mlp.up_proj.weight": (s["I"], s["H"]),
        "mlp.down_proj.weight": (s["H"], s["I"]),
    }
    return _bf16(_checkpoint(s, mlp))


def moe_headers(s: Sizes) -> Headers:
    """A checkpoint whose layers have routed experts and a shared one."""
    mlp = {
        "mlp.gate.weight": (s["experts"], s["H"]),
        "mlp.shared_expert_gate.weight": (1, s["H"]),
        "mlp.experts.gate_up_proj": (s["experts"], 2 * s["E"], s["H"]),
        "mlp.experts.down_proj": (s["experts"], s["H"], s["E"]),
        "mlp.shared_expert.gate_proj.weight": (s["S"], s["H"]),
        "mlp.shared_expert.up_proj.weight": (s["S"], s["H"]),
        "mlp.shared_expert.down_proj.weight": (s["H"], s["S"]),
    }
    return _bf16(_checkpoint(s, mlp))


def dflash_headers(s: Sizes) -> Headers:
    """The DFlash file of 35B-A3B."""
    hidden, query, key = s["H"], s["dN"] * s["dD"], s["dKN"] * s["dD"]
    shapes: dict[str, tuple[int, ...]] = {
        "fc.weight": (hidden, s["taps"] * hidden),
        "hidden_norm.weight": (hidden,),
        "norm.weight": (hidden,),
    }
    for layer in range(s["d_layers"]):
        for name, shape in {
            "input_layernorm.weight": (hidden,),
            "post_attention_layernorm.weight": (hidden,),
            "self_attn.q_proj.weight": (query, hidden),
            "self_attn.k_proj.weight": (key, hidden),
            "self_attn.v_proj.weight": (key, hidden),
            "self_attn.q_norm.weight": (s["dD"],),
            "self_attn.k_norm.weight": (s["dD"],),
            "self_attn.o_proj.weight": (hidden, query),
            "mlp.gate_proj.weight": (s["dI"], hidden),
            "mlp.up_proj.weight": (s["dI"], hidden),
            "mlp.down_proj.weight": (hidden, s["dI"]),
        }.items():
            shapes[f"layers.{layer}.{name}"] = shape
    return _bf16(shapes)


def nvfp4_headers(s: Sizes) -> Headers:
    """Qwen3.6-27B with the linears of its text layers in NVFP4, but for those that the page names."""
    nvfp4 = []
    for layer in range(s["layers"]):
        prefix = f"{TEXT}layers.{layer}."
        nvfp4 += [f"{prefix}mlp.{linear}" for linear in MLP_LINEARS]
        if is_full(layer, s):
            kept = {"q_proj", "k_proj", "v_proj"} if layer < 24 else set()
            kept |= {"o_proj"} if layer in (3, 7) else set()
            nvfp4 += [f"{prefix}self_attn.{linear}" for linear in ATTENTION_LINEARS if linear not in kept]
        else:
            kept = {"out_proj"} if layer == 4 else set()
            nvfp4 += [f"{prefix}linear_attn.{linear}" for linear in GDN_LINEARS if linear not in kept]
    return _quantized(dense_headers(s), nvfp4, ())


def mixed_headers(s: Sizes, nvfp4_mlps: int) -> Headers:
    """Qwen3.8-27B with the first MLPs in NVFP4, the other linears of its text layers and its head in FP8."""
    nvfp4, fp8 = [], ["lm_head"]
    for layer in range(s["layers"]):
        prefix = f"{TEXT}layers.{layer}."
        mlps = [f"{prefix}mlp.{linear}" for linear in MLP_LINEARS]
        if layer < nvfp4_mlps:
            nvfp4 += mlps
        else:
            fp8 += mlps
        if is_full(layer, s):
            fp8 += [f"{prefix}self_attn.{linear}" for linear in ATTENTION_LINEARS]
        else:
            fp8 += [f"{prefix}linear_attn.{linear}" for linear in GDN_LINEARS]
    return _quantized(dense_headers(s), nvfp4, fp8)


def is_full(layer: int, s: Sizes) -> bool:
    """Whether a text layer has full attention."""
    return layer % s["every"] == s["every"] - 1


def _quantized(base: Headers, nvfp4: Iterable[str], fp8: Iterable[str]) -> Headers:
    """A checkpoint with linears in the tensors that compressed-tensors makes of them."""
    headers = dict(base)
    for linear in nvfp4:
        rows, columns = headers.pop(f"{linear}.weight").shape
        headers[f"{linear}.weight_packed"] = TensorType("U8", (rows, columns // 2))
        headers[f"{linear}.weight_scale"] = TensorType("F8_E4M3", (rows, columns // 16))
        headers[f"{linear}.weight_global_scale"] = TensorType("F32", (1,))
        headers[f"{linear}.input_global_scale"] = TensorType("F32", (1,))
    for linear in fp8:
        rows, columns = headers[f"{linear}.weight"].shape
        headers[f"{linear}.weight"] = TensorType("F8_E4M3", (rows, columns))
        headers[f"{linear}.weight_scale"] = TensorType("BF16", (rows, 1))
    return headers


def _bf16(shapes: Mapping[str, tuple[int, ...]]) -> Headers:
    return {name: TensorType("BF16", shape) for name, shape in shapes.items()}


def _checkpoint(s: Sizes, mlp: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    hidden = s["H"]
    shapes: dict[str, tuple[int, ...]] = {
        f"{TEXT}embed_tokens.weight": (s["vocab"], hidden),
        f"{TEXT}norm.weight": (hidden,),
        "lm_head.weight": (s["vocab"], hidden),
        "mtp.fc.weight": (hidden, 2 * hidden),
        "mtp.pre_fc_norm_embedding.weight": (hidden,),
        "mtp.pre_fc_norm_hidden.weight": (hidden,),
        "mtp.norm.weight": (hidden,),
    }
    norms = {"input_layernorm.weight": (hidden,), "post_attention_layernorm.weight": (hidden,)}
    for layer in range(s["layers"]):
        mixer = _attention(s) if is_full(layer, s) else _gdn(s)
        shapes |= {f"{TEXT}layers.{layer}.{name}": shape for name, shape in {**norms, **mixer, **mlp}.items()}
    shapes |= {f"mtp.layers.0.{name}": shape for name, shape in {**norms, **_attention(s), **mlp}.items()}
    return shapes | {f"model.visual.{name}": shape for name, shape in _vision(s).items()}


def _attention(s: Sizes) -> dict[str, tuple[int, ...]]:
    query, key = s["N"] * s["D"], s["KN"] * s["D"]
    return {
        "self_attn.q_proj.weight": (2 * query, s["H"]),
        "self_attn.k_proj.weight": (key, s["H"]),
        "self_attn.v_proj.weight": (key, s["H"]),
        "self_attn.q_norm.weight": (s["D"],),
        "self_attn.k_norm.weight": (s["D"],),
        "self_attn.o_proj.weight": (s["H"], query),
    }


def _gdn(s: Sizes) -> dict[str, tuple[int, ...]]:
    value = s["gN"] * s["gD"]
    channels = 2 * s["gKN"] * s["gD"] + value
    return {
        "linear_attn.A_log": (s["gN"],),
        "linear_attn.dt_bias": (s["gN"],),
        "linear_attn.conv1d.weight": (channels, 1, s["kernel"]),
        "linear_attn.in_proj_a.weight": (s["gN"], s["H"]),
        "linear_attn.in_proj_b.weight": (s["gN"], s["H"]),
        "linear_attn.in_proj_qkv.weight": (channels, s["H"]),
        "linear_attn.in_proj_z.weight": (value, s["H"]),
        "linear_attn.norm.weight": (s["gD"],),
        "linear_attn.out_proj.weight": (s["H"], value),
    }


def _vision(s: Sizes) -> dict[str, tuple[int, ...]]:
    width, merged = s["vH"], s["merge"] ** 2 * s["vH"]
    shapes: dict[str, tuple[int, ...]] = {
        "patch_embed.proj.weight": (width, 3, s["frames"], s["patch"], s["patch"]),
        "patch_embed.proj.bias": (width,),
        "pos_embed.weight": (s["positions"], width),
        "merger.norm.weight": (width,),
        "merger.norm.bias": (width,),
        "merger.linear_fc1.weight": (merged, merged),
        "merger.linear_fc1.bias": (merged,),
        "merger.linear_fc2.weight": (s["H"], merged),
        "merger.linear_fc2.bias": (s["H"],),
    }
    block = {
        "attn.qkv": (3 * width, width),
        "attn.proj": (width, width),
        "mlp.linear_fc1": (s["vI"], width),
        "mlp.linear_fc2": (width, s["vI"]),
        "norm1": (width,),
        "norm2": (width,),
    }
    for number in range(s["v_layers"]):
        for name, shape in block.items():
            shapes[f"blocks.{number}.{name}.weight"] = shape
            shapes[f"blocks.{number}.{name}.bias"] = shape[:1]
    return shapes
