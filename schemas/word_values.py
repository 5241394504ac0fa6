"""What the words of quantized formats stand for (numeric-formats.md, 3.2 to 3.4 and 5), one word at a time.

For showing a few words to people, where no kernel is loaded.
"""

from __future__ import annotations

import struct

from schemas.registry import FORMATS, BlockScaledGeometry, Format, GroupedGeometry, RowScaledGeometry

_E2M1_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_E4M3FN_NAN = 0x7F


def code_values(format: Format) -> tuple[float | None, ...]:
    """The value of each code by its bits, before it is scaled; None for bits that are no code of the format.

    Raises ValueError for a format without codes.
    """
    match FORMATS[format].geometry:
        case GroupedGeometry(code_bits=bits, qmin=least):
            signed = (word if word < 1 << (bits - 1) else word - (1 << bits) for word in range(1 << bits))
            return tuple(float(value) if value >= least else None for value in signed)
        case BlockScaledGeometry():
            return (*_E2M1_MAGNITUDES, *(-magnitude for magnitude in _E2M1_MAGNITUDES))
        case RowScaledGeometry():
            return tuple(None if word & 0x7F == _E4M3FN_NAN else _e4m3fn(word) for word in range(256))
        case _:
            raise ValueError(f"{format} has no codes")


def scale_bin(format: Format, number: int) -> tuple[float, float]:
    """The smallest and the largest scale above zero in a bin of a histogram: an eighth of a binade, whose words agree
    in exponent and the first three bits of the fraction.

    Raises ValueError for a format without scales.
    """
    match FORMATS[format].geometry:
        case GroupedGeometry():
            first, last = max(number << 7, 1), (number << 7) + 127
            return _binary16(first), _binary16(last)
        case RowScaledGeometry():
            first, last = max(number << 4, 1), (number << 4) + 15
            return _bf16(first), _bf16(last)
        case BlockScaledGeometry():
            return _e4m3fn(number), _e4m3fn(number)
        case _:
            raise ValueError(f"{format} has no scales")


def _binary16(word: int) -> float:
    [value] = struct.unpack("<e", word.to_bytes(2, "little"))
    return float(value)


def _bf16(word: int) -> float:
    [value] = struct.unpack("<f", (word << 16).to_bytes(4, "little"))
    return float(value)


def _e4m3fn(word: int) -> float:
    """By way of binary16: the same fields, a bias that is 8 larger, and three bits of fraction at its upper end."""
    return _binary16((word & 0x80) << 8 | (word & 0x7F) << 7) * 256
