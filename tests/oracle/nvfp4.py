"""NVFP4 (numeric-formats.md, section 3.3): decoding and validity. It has no encoder."""

from __future__ import annotations

from fractions import Fraction

from tests.oracle.words import BINARY32, E4M3FN, Kind, decode, exact

GROUP = 16
E2M1_MAGNITUDES = tuple(Fraction(value) for value in ("0", "1/2", "1", "3/2", "2", "3", "4", "6"))


def decode_e2m1(code: int) -> Fraction:
    """The value of a code word; all 16 are valid. Words 0x0 and 0x8 are both zero, and differ as words."""
    if not 0 <= code < 16:
        raise ValueError(f"{code:#x} is no 4-bit word")
    magnitude = E2M1_MAGNITUDES[code & 7]
    return -magnitude if code & 8 else magnitude


def scale_is_valid(scale: int) -> bool:
    """Sign-zero finite E4M3FN words, positive zero among them."""
    value = decode(E4M3FN, scale)
    return value.finite and not value.negative


def divisor_is_valid(divisor: int) -> bool:
    """Finite and strictly positive binary32 words."""
    value = decode(BINARY32, divisor)
    return value.kind in (Kind.SUBNORMAL, Kind.NORMAL) and not value.negative


def reconstruct(code: int, scale: int, divisor: int) -> Fraction:
    """The exact represented weight of one code word."""
    return decode_e2m1(code) * exact(E4M3FN, scale) / exact(BINARY32, divisor)
