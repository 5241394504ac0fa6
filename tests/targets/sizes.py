"""The sizes of the checkpoints of targets.md by the names that the recipes give them in `let`."""

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
