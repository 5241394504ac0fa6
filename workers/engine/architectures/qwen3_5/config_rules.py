"""Every rule for the configs of components, for those just derived as for those that were read (container-v3.md, 6)."""

from __future__ import annotations

from collections.abc import Iterator

from workers.engine.architectures.architecture import Config, Configs
from workers.engine.architectures.qwen3_5.components import DRAFTS, FAMILIES, Family, family_of
from workers.engine.architectures.qwen3_5.config_members import (
    FLAG,
    OBJECT,
    REAL,
    SIZE,
    UNIT_REAL,
    Checked,
    ConfigFault,
    Members,
    list_of,
    one_of,
    text_equal,
)
from workers.engine.architectures.qwen3_5.draft_rules import draft_faults
from workers.engine.architectures.qwen3_5.geometry import FULL_ATTENTION, LINEAR_ATTENTION
from workers.engine.architectures.qwen3_5.rotary import MROPE_SECTION, mrope_fault
from workers.engine.architectures.qwen3_5.vision_rules import vision_faults

TEXT: Members = {
    "hidden_size": SIZE,
    "vocab_size": SIZE,
    "num_hidden_layers": SIZE,
    "max_position_embeddings": SIZE,
    "tie_word_embeddings": FLAG,
    "rms_norm_eps": REAL,
    "layer_types": list_of(FULL_ATTENTION, LINEAR_ATTENTION),
}
ATTENTION: Members = {
    "num_attention_heads": SIZE,
    "num_key_value_heads": SIZE,
    "head_dim": SIZE,
    "rope_parameters": OBJECT,
}
ROPE: Members = {"rope_theta": REAL, "partial_rotary_factor": UNIT_REAL, "mrope_section": MROPE_SECTION}
LINEAR: Members = {
    "linear_num_key_heads": SIZE,
    "linear_key_head_dim": SIZE,
    "linear_num_value_heads": SIZE,
    "linear_value_head_dim": SIZE,
    "linear_conv_kernel_dim": SIZE,
}
DENSE_MLP: Members = {"intermediate_size": SIZE}
EXPERTS: Members = {
    "num_experts": SIZE,
    "num_experts_per_tok": SIZE,
    "moe_intermediate_size": SIZE,
    "shared_expert_intermediate_size": SIZE,
}

PARAMETERS = 1_000_000
"""Logical parameters of one component, so that a few digits in a config cannot ask for more than memory holds."""
PARAMETERS_A_LAYER = 20
"""At most, experts apart."""


def text_members(family: Family, layer_types: object, *, mtp: bool) -> Members:
    """The closed set of text members: attention sizes where a full-attention layer or MTP needs them, linear ones where
    a linear layer does."""
    kinds = layer_types if isinstance(layer_types, list) else []
    return {
        "architectures": one_of(family.text_class),
        "model_type": text_equal(family.text_model_type),
        **TEXT,
        **(ATTENTION if mtp or FULL_ATTENTION in kinds else {}),
        **(LINEAR if LINEAR_ATTENTION in kinds else {}),
        **(EXPERTS if family.experts else DENSE_MLP),
    }


def config_faults(configs: Configs) -> Iterator[ConfigFault]:
    """Every fault of the configs of offered components, `text` among them. Components outside of the architecture are
    passed over."""
    text = configs["text"]
    family = family_of(text.get("architectures")) or next(
        family for family in FAMILIES if family.experts == ("num_experts" in text)
    )
    yield from _text(text, family, mtp="mtp" in configs)
    if "vision" in configs:
        yield from vision_faults(configs["vision"], family)
    if "mtp" in configs:
        yield from Checked("mtp", configs["mtp"]).members({"architectures": one_of(family.mtp_class)})
    for draft in DRAFTS:
        if draft in configs:
            yield from draft_faults(draft, configs[draft], text)
    yield from _count(configs)


def _text(text: Config, family: Family, *, mtp: bool) -> Iterator[ConfigFault]:
    checked = Checked("text", text)
    members = text_members(family, text.get("layer_types"), mtp=mtp)
    yield from checked.members(members)
    yield from _layer_types(checked)
    if "head_dim" in members:
        yield from _divisible(checked, "num_attention_heads", "num_key_value_heads")
        yield from _rope(text)
    if "linear_num_key_heads" in members:
        yield from _divisible(checked, "linear_num_value_heads", "linear_num_key_heads")
    chosen = checked.sizes("num_experts_per_tok", "num_experts")
    if chosen is not None and chosen[0] > chosen[1]:
        yield checked.fault(f"expected at most num_experts, {chosen[1]}, found {chosen[0]}", "num_experts_per_tok")


def _layer_types(checked: Checked) -> Iterator[ConfigFault]:
    kinds, layers = checked.config.get("layer_types"), checked.sizes("num_hidden_layers")
    if isinstance(kinds, list) and layers is not None and len(kinds) != layers[0]:
        yield checked.fault(f"expected one for each of {layers[0]} layers, found {len(kinds)}", "layer_types")


def _divisible(checked: Checked, name: str, divisor: str) -> Iterator[ConfigFault]:
    sizes = checked.sizes(name, divisor)
    if sizes is not None and sizes[0] % sizes[1]:
        yield checked.fault(f"expected a multiple of {divisor}, {sizes[1]}, found {sizes[0]}", name)


def _rope(text: Config) -> Iterator[ConfigFault]:
    rope = text.get("rope_parameters")
    if not isinstance(rope, dict):
        return
    checked = Checked("text", rope, ("rope_parameters",))
    faults = list(checked.members(ROPE))
    yield from faults
    width = Checked("text", text).sizes("head_dim")
    if width is not None and not faults:
        found = mrope_fault(width[0], rope)
        if found is not None:
            yield checked.fault(found[1], found[0])


def _count(configs: Configs) -> Iterator[ConfigFault]:
    """Where a few numbers ask for more parameters than any file binds."""
    for component, member in (("text", "num_hidden_layers"), ("vision", "depth")):
        checked = Checked(component, configs.get(component, {}))
        layers, experts = checked.sizes(member), checked.sizes("num_experts") or (0,)
        if layers is not None and layers[0] * (PARAMETERS_A_LAYER + 3 * experts[0]) > PARAMETERS:
            message = f"expected a model of at most {PARAMETERS:,} parameters, found {layers[0]} layers"
            yield checked.fault(f"{message} of {experts[0]} experts" if experts[0] else message, member)
