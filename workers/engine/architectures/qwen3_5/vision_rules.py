"""The closed set of vision members and what must hold between them (container-v3.md, 6)."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

from workers.engine.architectures.architecture import Config
from workers.engine.architectures.qwen3_5.components import Family
from workers.engine.architectures.qwen3_5.config_members import SIZE, Checked, ConfigFault, Members, text_equal

VISION_SIZES: Members = {
    "depth": SIZE,
    "hidden_size": SIZE,
    "intermediate_size": SIZE,
    "num_heads": SIZE,
    "patch_size": SIZE,
    "temporal_patch_size": SIZE,
    "spatial_merge_size": SIZE,
    "num_position_embeddings": SIZE,
}


def vision_faults(config: Config, family: Family) -> Iterator[ConfigFault]:
    """Every fault of the vision component's config."""
    checked = Checked("vision", config)
    yield from checked.members({"model_type": text_equal(family.vision_model_type), **VISION_SIZES})
    sizes = checked.sizes("hidden_size", "num_heads")
    if sizes is not None:
        hidden, heads = sizes
        if hidden % heads:
            yield checked.fault(f"expected a multiple of num_heads, {heads}, found {hidden}", "hidden_size")
        elif hidden // heads % 4:
            message = f"expected a head width that is a multiple of 4, found {hidden} / {heads} = {hidden // heads}"
            yield checked.fault(message, "hidden_size")
    positions = checked.sizes("num_position_embeddings")
    if positions is not None and isqrt(positions[0]) ** 2 != positions[0]:
        yield checked.fault(f"expected a perfect square, found {positions[0]}", "num_position_embeddings")
