"""The closed sets of the two draft models' members and what must hold between them and text (container-v3.md, 6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workers.engine.architectures.architecture import Config
from workers.engine.architectures.qwen3_5.components import DRAFT_CLASSES
from workers.engine.architectures.qwen3_5.config_members import (
    INDEX,
    INDICES,
    OBJECT,
    REAL,
    SIZE,
    Checked,
    ConfigFault,
    Members,
    list_of,
    one_of,
    shown,
    text_equal,
)
from workers.engine.architectures.qwen3_5.geometry import FULL_ATTENTION, SLIDING_ATTENTION

DRAFT_MODEL_TYPE = "qwen3"

DRAFT_SIZES: Members = {
    "intermediate_size": SIZE,
    "num_attention_heads": SIZE,
    "num_key_value_heads": SIZE,
    "head_dim": SIZE,
    "num_hidden_layers": SIZE,
    "max_position_embeddings": SIZE,
    "rms_norm_eps": REAL,
}
DRAFT_ROPE: Members = {"rope_theta": REAL}
_WINDOW: Members = {"sliding_window": SIZE}

_DFLASH: Members = {"target_layer_ids": INDICES, "mask_token_id": INDEX}
DRAFT_OWN: Mapping[str, Members] = {
    "dflash": _DFLASH,
    "dflash2": {
        **_DFLASH,
        "conv_kernel_size": SIZE,
        "conv_group_size": SIZE,
        "selector_rank": SIZE,
        "selector_top_k": SIZE,
    },
}
"""The members of `dflash_config`."""


def draft_faults(component: str, config: Config, text: Config) -> Iterator[ConfigFault]:
    """Every fault of a draft's config beside that of its target."""
    checked = Checked(component, config)
    kinds = config.get("layer_types")
    slides = isinstance(kinds, list) and SLIDING_ATTENTION in kinds
    members = {
        "architectures": one_of(DRAFT_CLASSES[component]),
        "model_type": text_equal(DRAFT_MODEL_TYPE),
        **DRAFT_SIZES,
        "rope_parameters": OBJECT,
        "layer_types": list_of(SLIDING_ATTENTION, FULL_ATTENTION),
        **(_WINDOW if slides else {}),
        "dflash_config": OBJECT,
    }
    yield from checked.members(members, _WINDOW)
    width, layers = checked.sizes("head_dim"), checked.sizes("num_hidden_layers")
    if width is not None and width[0] % 2:
        yield checked.fault(f"expected an even width, found {width[0]}", "head_dim")
    if isinstance(kinds, list) and layers is not None and len(kinds) != layers[0]:
        yield checked.fault(f"expected one for each of {layers[0]} layers, found {len(kinds)}", "layer_types")
    rope, own = config.get("rope_parameters"), config.get("dflash_config")
    if isinstance(rope, dict):
        yield from Checked(component, rope, ("rope_parameters",)).members(DRAFT_ROPE)
    if isinstance(own, dict):
        yield from _own(Checked(component, own, ("dflash_config",)), text)


def _own(checked: Checked, text: Config) -> Iterator[ConfigFault]:
    """What a draft says of its target."""
    yield from checked.members(DRAFT_OWN[checked.component])
    target = Checked("text", text)
    taps = checked.config.get("target_layer_ids")
    if isinstance(taps, list) and INDICES.holds(taps):
        if not taps or len(set(taps)) != len(taps):
            yield checked.fault(f"expected distinct layers, at least one, found {shown(taps)}", "target_layer_ids")
        layers = target.sizes("num_hidden_layers")
        if layers is not None and taps and max(taps) >= layers[0]:
            yield checked.fault(f"expected layers below {layers[0]}, found {max(taps)}", "target_layer_ids")
    mask, vocabulary = checked.config.get("mask_token_id"), target.sizes("vocab_size")
    if isinstance(mask, int) and vocabulary is not None and mask >= vocabulary[0]:
        yield checked.fault(f"expected a token below {vocabulary[0]}, found {mask}", "mask_token_id")
    group, hidden = checked.sizes("conv_group_size"), target.sizes("hidden_size")
    if group is not None and hidden is not None and hidden[0] % group[0]:
        yield checked.fault(f"expected a divisor of hidden_size, {hidden[0]}, found {group[0]}", "conv_group_size")
