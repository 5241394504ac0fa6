"""What targets.md says that each object is made of, written with numpy on whole tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.targets.sizes import Sizes

TEXT = "model.language_model."

Words = npt.NDArray[np.unsignedinteger[Any]]
Checkpoint = Mapping[str, Words]
"""Tensors by name: uint16 words of BF16, uint32 of F32, uint8 codes and E4M3 words."""

Made = tuple[Words, ...]
"""The words of an object; of NVFP4 its codes, scales and divisor, of row FP8 its codes and scales."""

Objects = Iterator[tuple[str, Made]]


def is_full(layer: int, s: Sizes) -> bool:
    """Whether a text layer has full attention: every 4th, from 3 on."""
    return (layer + 1) % s["every"] == 0


def rows(*parts: Words) -> Words:
    """Parts one below the other."""
    return np.concatenate(parts, axis=0)


def widened(bf16: Words) -> Words:
    """BF16 words as F32 words of the same values."""
    return bf16.astype(np.uint32) << np.uint32(16)


def query_and_gate(q_proj: Words, s: Sizes) -> tuple[Words, Words]:
    """The two halves of each head's rows."""
    heads = q_proj.reshape(s["N"], 2 * s["D"], -1)
    query, gate = heads[:, 0 : s["D"]], heads[:, s["D"] : 2 * s["D"]]
    return query.reshape(s["N"] * s["D"], -1), gate.reshape(s["N"] * s["D"], -1)


def fused_attention(linear: Callable[[str], Words], s: Sizes) -> Words:
    """Rows of query, key, gate and value, `linear` giving one tensor of each projection."""
    query, gate = query_and_gate(linear("q_proj"), s)
    return rows(query, linear("k_proj"), gate, linear("v_proj"))


def norms(o: str, p: str, c: Checkpoint) -> Objects:
    yield f"{o}input_norm", (c[f"{p}input_layernorm.weight"],)
    yield f"{o}post_attention_norm", (c[f"{p}post_attention_layernorm.weight"],)


def head_norms(o: str, p: str, c: Checkpoint) -> Objects:
    yield f"{o}attention/query_norm", (c[f"{p}self_attn.q_norm.weight"],)
    yield f"{o}attention/key_norm", (c[f"{p}self_attn.k_norm.weight"],)


def gdn(o: str, p: str, c: Checkpoint, *, joined_a_b: bool) -> Objects:
    """What all targets make of a GDN layer in the same way."""
    yield f"{o}gdn/a_log", (widened(c[f"{p}linear_attn.A_log"]),)
    yield f"{o}gdn/dt_bias", (widened(c[f"{p}linear_attn.dt_bias"]),)
    yield f"{o}gdn/convolution", (c[f"{p}linear_attn.conv1d.weight"][:, 0, :].T,)
    yield f"{o}gdn/norm", (c[f"{p}linear_attn.norm.weight"],)
    a, b = c[f"{p}linear_attn.in_proj_a.weight"], c[f"{p}linear_attn.in_proj_b.weight"]
    if joined_a_b:
        yield f"{o}gdn/a_b_projection", (rows(a, b),)
    else:
        yield f"{o}gdn/a_projection", (a,)
        yield f"{o}gdn/b_projection", (b,)


def dense_mlp(o: str, p: str, c: Checkpoint) -> Objects:
    yield f"{o}mlp/gate_up", (rows(c[f"{p}mlp.gate_proj.weight"], c[f"{p}mlp.up_proj.weight"]),)
    yield f"{o}mlp/down", (c[f"{p}mlp.down_proj.weight"],)


def moe(o: str, p: str, c: Checkpoint, s: Sizes) -> Objects:
    gate_up, down = c[f"{p}mlp.experts.gate_up_proj"], c[f"{p}mlp.experts.down_proj"]
    shared = f"{p}mlp.shared_expert."
    yield f"{o}moe/router_shared_gate", (rows(c[f"{p}mlp.gate.weight"], c[f"{p}mlp.shared_expert_gate.weight"]),)
    yield f"{o}moe/routed_gate_up", (rows(*(gate_up[expert] for expert in range(s["experts"]))),)
    yield f"{o}moe/routed_down", (rows(*(down[expert] for expert in range(s["experts"]))),)
    yield f"{o}moe/shared_gate_up", (rows(c[f"{shared}gate_proj.weight"], c[f"{shared}up_proj.weight"]),)
    yield f"{o}moe/shared_down", (c[f"{shared}down_proj.weight"],)


def heads(embedding: Checkpoint, norm: Checkpoint, base: Checkpoint, draft_ids: npt.NDArray[np.int32]) -> Objects:
    """The objects around the text layers whose words come from floating point."""
    yield "text/token_embedding", (embedding[f"{TEXT}embed_tokens.weight"],)
    yield "text/final_norm", (norm[f"{TEXT}norm.weight"],)
    yield "text/draft_head", (base["lm_head.weight"][draft_ids],)
    yield "text/draft_head_token_ids", (draft_ids.view(np.uint32),)


def mtp(c: Checkpoint, s: Sizes) -> Objects:
    """What both kinds of MTP layer have."""
    o, p = "mtp/layer/", "mtp.layers.0."
    yield "mtp/input_projection", (c["mtp.fc.weight"],)
    yield "mtp/embedding_norm", (c["mtp.pre_fc_norm_embedding.weight"],)
    yield "mtp/hidden_norm", (c["mtp.pre_fc_norm_hidden.weight"],)
    yield "mtp/final_norm", (c["mtp.norm.weight"],)
    yield from norms(o, p, c)
    yield from head_norms(o, p, c)
    yield f"{o}attention/query_key_gate_value", (fused_attention(lambda x: c[f"{p}self_attn.{x}.weight"], s),)
    yield f"{o}attention/output", (c[f"{p}self_attn.o_proj.weight"],)


def vision(c: Checkpoint, s: Sizes) -> Objects:
    p = "model.visual."
    yield "vision/patch_embedding", (c[f"{p}patch_embed.proj.weight"].reshape(s["vH"], -1),)
    yield "vision/patch_embedding_bias", (c[f"{p}patch_embed.proj.bias"],)
    yield "vision/position_embedding", (c[f"{p}pos_embed.weight"],)
    linears = {f"vision/merger/{fc}": f"{p}merger.linear_{fc}" for fc in ("fc1", "fc2")}
    layer_norms = {"vision/merger/norm": f"{p}merger.norm"}
    for block in range(s["v_layers"]):
        o, q = f"vision/layers/{block}/", f"{p}blocks.{block}."
        linears |= {f"{o}attention/qkv": f"{q}attn.qkv", f"{o}attention/output": f"{q}attn.proj"}
        linears |= {f"{o}mlp/{fc}": f"{q}mlp.linear_{fc}" for fc in ("fc1", "fc2")}
        layer_norms |= {f"{o}{norm}": f"{q}{norm}" for norm in ("norm1", "norm2")}
    for name, linear in linears.items():
        yield name, (c[f"{linear}.weight"],)
        yield f"{name}_bias", (c[f"{linear}.bias"],)
    for name, norm in layer_norms.items():
        yield f"{name}/weight", (c[f"{norm}.weight"],)
        yield f"{name}/bias", (c[f"{norm}.bias"],)


def groupwise_text(c: Checkpoint, s: Sizes) -> Objects:
    """The text layers of the dense models, for grouped integers."""
    key_rows = 2 * s["gKN"] * s["gD"]
    for layer in range(s["layers"]):
        o, p = f"text/layers/{layer}/", f"{TEXT}layers.{layer}."
        yield from norms(o, p, c)
        yield from dense_mlp(o, p, c)
        if is_full(layer, s):
            query, gate = query_and_gate(c[f"{p}self_attn.q_proj.weight"], s)
            yield f"{o}attention/query_key", (rows(query, c[f"{p}self_attn.k_proj.weight"]),)
            yield f"{o}attention/gate_value", (rows(gate, c[f"{p}self_attn.v_proj.weight"]),)
            yield f"{o}attention/output", (c[f"{p}self_attn.o_proj.weight"],)
            yield from head_norms(o, p, c)
        else:
            qkv = c[f"{p}linear_attn.in_proj_qkv.weight"]
            yield f"{o}gdn/query_key", (qkv[:key_rows],)
            yield f"{o}gdn/value_z", (rows(qkv[key_rows:], c[f"{p}linear_attn.in_proj_z.weight"]),)
            yield f"{o}gdn/output", (c[f"{p}linear_attn.out_proj.weight"],)
            yield from gdn(o, p, c, joined_a_b=False)


def moe_text(c: Checkpoint, s: Sizes) -> Objects:
    """The text layers of 35B-A3B."""
    for layer in range(s["layers"]):
        o, p = f"text/layers/{layer}/", f"{TEXT}layers.{layer}."
        yield from norms(o, p, c)
        yield from moe(o, p, c, s)
        if is_full(layer, s):
            attention = {x: c[f"{p}self_attn.{x}.weight"] for x in ("q_proj", "k_proj", "v_proj")}
            yield f"{o}attention/query_key_gate_value", (fused_attention(attention.__getitem__, s),)
            yield f"{o}attention/output", (c[f"{p}self_attn.o_proj.weight"],)
            yield from head_norms(o, p, c)
        else:
            linears = (c[f"{p}linear_attn.in_proj_qkv.weight"], c[f"{p}linear_attn.in_proj_z.weight"])
            yield f"{o}gdn/query_key_value_z", (rows(*linears),)
            yield f"{o}gdn/output", (c[f"{p}linear_attn.out_proj.weight"],)
            yield from gdn(o, p, c, joined_a_b=True)


def dflash(c: Checkpoint, s: Sizes) -> Objects:
    yield "dflash/feature_projection", (c["fc.weight"],)
    yield "dflash/context_norm", (c["hidden_norm.weight"],)
    yield "dflash/final_norm", (c["norm.weight"],)
    for layer in range(s["d_layers"]):
        o, p = f"dflash/layers/{layer}/", f"layers.{layer}."
        yield from norms(o, p, c)
        yield from head_norms(o, p, c)
        yield from dense_mlp(o, p, c)
        attention = (c[f"{p}self_attn.{x}.weight"] for x in ("q_proj", "k_proj", "v_proj"))
        yield f"{o}attention/query_key_value", (rows(*attention),)
        yield f"{o}attention/output", (c[f"{p}self_attn.o_proj.weight"],)


def sites(layer: int, s: Sizes, q: Checkpoint) -> Iterator[tuple[str, str, Callable[[str], Words]]]:
    """Of each site of a dense text layer the object's name, one of its linears, and its rows by kind of tensor."""
    p = f"{TEXT}layers.{layer}."

    def joined(*linears: str) -> Callable[[str], Words]:
        return lambda kind: rows(*(q[f"{p}{linear}.{kind}"] for linear in linears))

    def fused(kind: str) -> Words:
        return fused_attention(lambda linear: q[f"{p}self_attn.{linear}.{kind}"], s)

    if is_full(layer, s):
        yield "attention/query_key_gate_value", f"{p}self_attn.v_proj", fused
        yield "attention/output", f"{p}self_attn.o_proj", joined("self_attn.o_proj")
    else:
        pair = joined("linear_attn.in_proj_qkv", "linear_attn.in_proj_z")
        yield "gdn/query_key_value_z", f"{p}linear_attn.in_proj_z", pair
        yield "gdn/output", f"{p}linear_attn.out_proj", joined("linear_attn.out_proj")
    yield "mlp/gate_up", f"{p}mlp.up_proj", joined("mlp.gate_proj", "mlp.up_proj")
    yield "mlp/down", f"{p}mlp.down_proj", joined("mlp.down_proj")


SCALARS = {
    "attention/query_key_gate_value": "attention/input_projection",
    "attention/output": "attention/output_projection",
    "gdn/query_key_value_z": "gdn/input_projection",
    "gdn/output": "gdn/output_projection",
    "mlp/gate_up": "mlp/gate_up_projection",
    "mlp/down": "mlp/down_projection",
}
"""The scope of each site's input_scale_divisor, as the inventories name it."""


def quantized_text(rest: Checkpoint, q: Checkpoint, s: Sizes, *, joined_a_b: bool) -> Objects:
    """The text layers of the dense models, each site in the format that the quantized checkpoint has it in."""
    for layer in range(s["layers"]):
        o, p = f"text/layers/{layer}/", f"{TEXT}layers.{layer}."
        yield from norms(o, p, rest)
        yield from head_norms(o, p, rest) if is_full(layer, s) else gdn(o, p, rest, joined_a_b=joined_a_b)
        for site, linear, joined in sites(layer, s, q):
            if f"{linear}.weight_packed" in q:
                divisor = q[f"{linear}.weight_global_scale"]
                yield f"{o}{site}", (joined("weight_packed"), joined("weight_scale"), divisor)
                yield f"{o}{SCALARS[site]}/input_scale_divisor", (q[f"{linear}.input_global_scale"].reshape(()),)
            elif f"{linear}.weight_scale" in q:
                yield f"{o}{site}", (joined("weight"), joined("weight_scale"))
            else:
                kept = {name: made for name, _, made in sites(layer, s, rest)}
                yield f"{o}{site}", (kept[site]("weight"),)


def target_objects(
    id: str, checkpoints: Mapping[str, Checkpoint], draft_ids: npt.NDArray[np.int32], s: Sizes
) -> dict[str, Made]:
    """Every object of a target by name, of its checkpoints by source."""
    base = text_norm = checkpoints["base"]
    made = [*mtp(base, s), *vision(base, s)]
    match id:
        case "qwen3.6-35b-a3b.groupwise-int":
            made += [*moe_text(base, s), *moe("mtp/layer/", "mtp.layers.0.", base, s)]
            made += [*dflash(checkpoints["dflash"], s), ("text/output_head", (base["lm_head.weight"],))]
        case "qwen3.6-27b.nvfp4":
            made += quantized_text(base, checkpoints["quantized"], s, joined_a_b=False)
            made.append(("text/output_head", (base["lm_head.weight"],)))
        case "qwen3.8-27b.nvfp4":
            text_norm = quantized = checkpoints["quantized"]
            made += quantized_text(quantized, quantized, s, joined_a_b=True)
            made.append(("text/output_head", (quantized["lm_head.weight"], quantized["lm_head.weight_scale"])))
        case _:
            made += [*groupwise_text(base, s), ("text/output_head", (base["lm_head.weight"],))]
    if id != "qwen3.6-35b-a3b.groupwise-int":
        made += dense_mlp("mtp/layer/", "mtp.layers.0.", base)
    made += heads(base, text_norm, base, draft_ids)
    objects = dict(made)
    assert len(objects) == len(made)
    return objects
