"""The objects of dflash2 that files of Qwen3.8-27B may hold beside those of their inventory (targets.md, DFlash2)."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.registry import FORMATS, Format
from workers.engine.recipe.inventory import InventoryTensor

LAYERS = 5

_H = 5120
_VOCABULARY = 248_320
_RANK = 256
_HEAD = 128
_Q8 = Format.W8G32_F16S
_BF16 = Format.BF16

_LAYER: tuple[tuple[str, tuple[int, ...], Format], ...] = (
    ("input_norm", (_H,), _BF16),
    ("post_attention_norm", (_H,), _BF16),
    ("attention/query_key_value", (6144, _H), _Q8),
    ("attention/query_norm", (_HEAD,), _BF16),
    ("attention/key_norm", (_HEAD,), _BF16),
    ("attention/output", (_H, 4096), _Q8),
    ("mlp/gate_up", (34_816, _H), _Q8),
    ("mlp/down", (_H, 17_408), _Q8),
    ("attention_conv/base_kernel", (2, 2, _H), _BF16),
    ("mlp_conv/base_kernel", (2, 2, _H), _BF16),
    ("attention_conv/kernel_projection", (1280, _H), _BF16),
    ("mlp_conv/kernel_projection", (1280, _H), _BF16),
)
_ALONE: tuple[tuple[str, tuple[int, ...], Format], ...] = (
    ("feature_projection", (_H, 25_600), _Q8),
    ("context_norm", (_H,), _BF16),
    ("final_norm", (_H,), _BF16),
    ("candidate_selector/hidden_projection", (_RANK, _H), _BF16),
    ("candidate_selector/predecessor_codebook", (_VOCABULARY, _RANK), _BF16),
    ("candidate_selector/successor_codebook", (_VOCABULARY, _RANK), _BF16),
)


def dflash2_tensors() -> tuple[InventoryTensor, ...]:
    """All 66 of them."""
    return tuple(_tensors())


def _tensors() -> Iterator[InventoryTensor]:
    for name, shape, format in _ALONE:
        yield InventoryTensor(f"dflash2/{name}", shape, format, FORMATS[format].layout)
    for layer in range(LAYERS):
        for name, shape, format in _LAYER:
            yield InventoryTensor(f"dflash2/layers/{layer}/{name}", shape, format, FORMATS[format].layout)
