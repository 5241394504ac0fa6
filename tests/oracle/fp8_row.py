"""FP8_E4M3FN_ROW_BF16S (numeric-formats.md, section 3.4) and FP8_ROW_MAXABS_RECIP_RNE_V1 (targets.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tests.oracle.faults import OracleRefusal, Reason
from tests.oracle.rounding import round_to_value, round_to_word
from tests.oracle.words import BFLOAT16, BINARY32, E4M3FN, FloatFormat, Kind, Value, decode, exact

LEAST_SCALE = 0x0001
"""The smallest positive BF16 subnormal, 2^-133."""

LARGEST_CODE = Fraction(448)
"""The largest E4M3FN number."""


@dataclass(frozen=True, slots=True)
class Row:
    """The persistent words of one logical row: a BF16 multiplier word and E4M3FN code words."""

    scale: int
    codes: tuple[int, ...]


def code_is_valid(code: int) -> bool:
    """Section 3.4: every finite E4M3FN word."""
    return decode(E4M3FN, code).finite


def scale_is_valid(scale: int) -> bool:
    """Section 3.4: sign bit zero and finite."""
    value = decode(BFLOAT16, scale)
    return value.finite and not value.negative


def row_is_valid(row: Row) -> bool:
    """Section 3.4: valid codes and scale, and only signed zeros where the scale is zero."""
    legal = all(code_is_valid(code) for code in row.codes) and scale_is_valid(row.scale)
    return legal and (row.scale != 0 or all(decode(E4M3FN, code).kind is Kind.ZERO for code in row.codes))


def encode_row(source: FloatFormat, words: Sequence[int]) -> Row:
    """The profile of targets.md, step by step, on one row of BF16, binary16 or binary32 source words.

    Raises OracleRefusal for a source that is not finite or rounds to BF16 infinity (at that element), and for a row too
    small for the format (at its first element: 1/scale is infinite, so none has a finite quotient).
    """
    x = rounded_source(source, words)
    amax = max(value.magnitude for value in x)
    if amax == 0:
        return Row(scale=0x0000, codes=(0x00,) * len(x))
    scale = scale_of(amax)
    inv = _reciprocal_of(scale)
    if inv is None:
        raise OracleRefusal(Reason.ROW_TOO_SMALL)
    return Row(scale, tuple(_code(value, inv) for value in x))


def rounded_source(source: FloatFormat, words: Sequence[int]) -> list[Value]:
    """The source rounded to BF16. Raises OracleRefusal for an element that is not finite then."""
    x = []
    for lane, word in enumerate(words):
        value = decode(source, word)
        if value.finite:
            value = decode(BFLOAT16, round_to_word(BFLOAT16, value.exact, negative=value.negative))
        if not value.finite:
            raise OracleRefusal(Reason.NONFINITE_SOURCE, lane)
        x.append(value)
    return x


def scale_of(amax: Fraction) -> int:
    """The BF16 scale word of a row of this maximum, with the rescue from underflow."""
    raw = round_to_value(BINARY32, amax / LARGEST_CODE)
    scale = round_to_word(BFLOAT16, raw)
    return LEAST_SCALE if scale == 0 else scale


def reconstruct(row: Row) -> tuple[int, ...]:
    """Section 3.4: the represented weights of a row as binary32 words. A zero takes the sign of its code."""
    s32 = exact(BFLOAT16, row.scale)
    codes = [decode(E4M3FN, code) for code in row.codes]
    return tuple(round_to_word(BINARY32, c32.exact * s32, negative=c32.negative) for c32 in codes)


@lru_cache(maxsize=1 << 15)
def _reciprocal_of(scale: int) -> Fraction | None:
    """round_f32(1 / scale), None where that is infinite."""
    try:
        return round_to_value(BINARY32, 1 / exact(BFLOAT16, scale))
    except OverflowError:
        return None


def _code(x: Value, inv: Fraction) -> int:
    y = round_to_value(BINARY32, x.magnitude * inv)
    return round_to_word(E4M3FN, min(y, LARGEST_CODE), negative=False) | (E4M3FN.sign_bit if x.negative else 0)
