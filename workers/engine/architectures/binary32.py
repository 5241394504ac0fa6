"""Reals of component configs, which are stored as the nearest binary32 value (container-v3.md, 4)."""

from __future__ import annotations

import struct


def to_binary32(value: float) -> float:
    """The binary32 value nearest to `value`, ties to even. Raises OverflowError past the largest."""
    (rounded,) = struct.unpack("<f", struct.pack("<f", float(value)))
    return float(rounded)
