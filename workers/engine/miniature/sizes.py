"""Sizes of miniatures, by the names that the registered recipes give them in `let`.

They keep what framing 3 asks of a model (container-v3.md, section 6). As far as that and the formats allow, every
extent is another, so that a mixed-up axis shows.
"""

from __future__ import annotations

from collections.abc import Mapping

Sizes = Mapping[str, int]

VISION_HEADS = 7
VALUE_HEADS = 48
"""Of gated delta nets, as in the models themselves: with any other number an engine does not run a and b apart."""

_VISION = {"vH": 28, "vI": 44, "v_layers": 2, "patch": 4, "frames": 3, "merge": 2, "positions": 9}
_VOCABULARY = {"vocab": 58, "domain": 50, "take": 32}

GROUPWISE: Sizes = {
    "H": 72,
    "I": 104,
    "layers": 6,
    "every": 3,
    "N": 4,
    "KN": 2,
    "D": 24,
    "gN": VALUE_HEADS,
    "gKN": 3,
    "gD": 3,
    "kernel": 5,
    "vN": VISION_HEADS,
    **_VISION,
    **_VOCABULARY,
}

NVFP4: Sizes = {
    "H": 128,
    "I": 320,
    "layers": 28,
    "every": 4,
    "N": 6,
    "KN": 2,
    "D": 32,
    "gN": VALUE_HEADS,
    "gKN": 16,
    "gD": 12,
    "kernel": 3,
    "vN": VISION_HEADS,
    **_VISION,
    **_VOCABULARY,
}
"""NVFP4 takes rows in multiples of 128 and columns in multiples of 64. With 28 layers each projection of Qwen3.6 that
its publisher left in BF16 somewhere is also there in NVFP4."""

MIXED: Sizes = {**NVFP4, "layers": 8, "nvfp4_mlps": 6}

EXPERTS: Sizes = {
    "H": 40,
    "layers": 40,
    "every": 4,
    "N": 4,
    "KN": 2,
    "D": 12,
    "experts": 5,
    "chosen": 2,
    "E": 6,
    "S": 7,
    "gN": 6,
    "gKN": 2,
    "gD": 10,
    "kernel": 3,
    "d_layers": 3,
    "taps": 4,
    "dN": 4,
    "dKN": 2,
    "dD": 14,
    "dI": 52,
    **_VISION,
    **_VOCABULARY,
}
"""All 40 layers, since routed_down has a format of its own in three of the last."""
