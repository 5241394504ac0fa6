"""The sizes of the checkpoints of targets.md, and smaller ones, by the names that the recipes give them in `let`."""

from __future__ import annotations

from collections.abc import Mapping

Sizes = Mapping[str, int]

_VISION = {"vH": 1152, "vI": 4304, "v_layers": 27, "patch": 16, "frames": 2, "merge": 2, "positions": 2304}
_VOCABULARY = {"vocab": 248320, "domain": 248077, "take": 131072}
DENSE: Sizes = {
    "H": 5120,
    "I": 17408,
    "layers": 64,
    "every": 4,
    "N": 24,
    "KN": 4,
    "D": 256,
    "gN": 48,
    "gKN": 16,
    "gD": 128,
    "kernel": 4,
    **_VISION,
    **_VOCABULARY,
}
MOE: Sizes = {
    "H": 2048,
    "layers": 40,
    "every": 4,
    "N": 16,
    "KN": 2,
    "D": 256,
    "experts": 256,
    "E": 512,
    "S": 512,
    "gN": 32,
    "gKN": 16,
    "gD": 128,
    "kernel": 4,
    "d_layers": 6,
    "taps": 8,
    "dN": 32,
    "dKN": 8,
    "dD": 128,
    "dI": 6144,
    **_VISION,
    **_VOCABULARY,
}

_SMALL_VISION = {"vH": 24, "vI": 40, "v_layers": 2, "patch": 2, "frames": 3, "merge": 2, "positions": 9}
_SMALL_VOCABULARY = {"vocab": 60, "domain": 50, "take": 32}
SMALL_DENSE: Sizes = {
    "H": 128,
    "I": 192,
    "layers": 8,
    "every": 4,
    "N": 3,
    "KN": 1,
    "D": 64,
    "gN": 4,
    "gKN": 2,
    "gD": 32,
    "kernel": 3,
    **_SMALL_VISION,
    **_SMALL_VOCABULARY,
}
"""Every extent is another, as far as NVFP4 lets it: it takes rows in multiples of 128, columns in multiples of 64."""
SMALL_MOE: Sizes = {
    "H": 40,
    "layers": 8,
    "every": 4,
    "N": 3,
    "KN": 1,
    "D": 4,
    "experts": 5,
    "E": 6,
    "S": 7,
    "gN": 3,
    "gKN": 2,
    "gD": 8,
    "kernel": 3,
    "d_layers": 2,
    "taps": 3,
    "dN": 4,
    "dKN": 2,
    "dD": 9,
    "dI": 11,
    **_SMALL_VISION,
    **_SMALL_VOCABULARY,
}
