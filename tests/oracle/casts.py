"""The casts and the reciprocal of values (recipe.md, values: the operators)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tests.oracle.faults import OracleRefusal, Reason
from tests.oracle.rounding import round_to_word
from tests.oracle.words import (
    BFLOAT16,
    BINARY16,
    BINARY32,
    BINARY64,
    FloatFormat,
    Kind,
    decode,
    exact,
    integer_word,
    signed_integer,
)

FLOATS = {"BF16": BFLOAT16, "F16": BINARY16, "F32": BINARY32, "F64": BINARY64}
"""Floating-point source dtypes."""

SIGNED = {"I8": 8, "I16": 16, "I32": 32, "I64": 64}
UNSIGNED = {"U8": 8, "U16": 16, "U32": 32, "U64": 64}

CASTS: dict[tuple[str, str], tuple[str, ...]] = {
    ("FP32", "exact"): ("BF16", "F16"),
    ("I32", "exact"): ("I8", "I16"),
    ("BF16", "exact"): ("F32", "F16"),
    ("BF16", "rne"): ("F32", "F16"),
    ("I32", "checked"): ("I64", *UNSIGNED, *FLOATS),
}
"""What the language offers: (target format, rule) to source dtypes."""

TARGETS = {"BF16": BFLOAT16, "FP32": BINARY32}


def word_bits(dtype: str) -> int:
    """Width of a source dtype's words."""
    widths = {name: format.bits for name, format in FLOATS.items()} | SIGNED | UNSIGNED
    return widths[dtype]


def cast(word: int, dtype: str, to: str, by: str) -> int:
    """The target's word for one source word. Raises OracleRefusal where the rule has none."""
    if dtype not in CASTS[to, by]:
        raise ValueError(f"no cast of {dtype} to {to} by {by}")
    if to == "I32":
        return _to_i32(word, dtype)
    if by == "rne":
        return _rounded(word, FLOATS[dtype], TARGETS[to])
    return _expanded(word, FLOATS[dtype], TARGETS[to])


def _to_i32(word: int, dtype: str) -> int:
    value = _number(word, dtype)
    if value.denominator != 1:
        raise OracleRefusal(Reason.FRACTIONAL)
    if not -(1 << 31) <= value < 1 << 31:
        raise OracleRefusal(Reason.OUT_OF_RANGE)
    return integer_word(32, value.numerator)


def _number(word: int, dtype: str) -> Fraction:
    if dtype in SIGNED:
        return Fraction(signed_integer(SIGNED[dtype], word))
    if dtype in UNSIGNED:
        return Fraction(word)
    value = decode(FLOATS[dtype], word)
    if not value.finite:
        raise OracleRefusal(Reason.NONFINITE_SOURCE)
    return value.exact


def _rounded(word: int, source: FloatFormat, target: FloatFormat) -> int:
    value = decode(source, word)
    if not value.finite:
        raise OracleRefusal(Reason.NONFINITE_SOURCE)
    result = round_to_word(target, value.exact, negative=value.negative)
    if not decode(target, result).finite:
        raise OracleRefusal(Reason.OVERFLOW)
    return result


def _expanded(word: int, source: FloatFormat, target: FloatFormat) -> int:
    """The target's word of the same meaning: the same number, infinity, or NaN with the same sign and with the same
    fraction from its highest bit down, so that neither payload nor quietness is lost (section 3.1)."""
    value = decode(source, word)
    if value.finite:
        result = round_to_word(target, value.exact, negative=value.negative)
        if not decode(target, result).finite or exact(target, result) != value.exact:
            raise OracleRefusal(Reason.NOT_EXACT)
        return result
    sign = target.sign_bit if value.negative else 0
    fraction = word & ((1 << source.fraction_bits) - 1)
    return sign | target.nan_threshold | _refit(fraction, source.fraction_bits, target.fraction_bits)


def _refit(fraction: int, width: int, target_width: int) -> int:
    if target_width >= width:
        return fraction << (target_width - width)
    dropped = width - target_width
    if fraction % (1 << dropped):
        raise OracleRefusal(Reason.NOT_EXACT)
    return fraction >> dropped


@dataclass(frozen=True, slots=True)
class Reciprocal:
    """A divisor word made of a multiplier, and how far their product is from one."""

    divisor: int
    relative_error: Fraction


def reciprocal(multiplier: int, by: str) -> Reciprocal:
    """d = round_f32(1/m) of one binary32 word m; `exact` demands that round_f32(1/d) be m again.

    Raises OracleRefusal where m is not finite and positive, d is not, or the way back fails.
    """
    m = decode(BINARY32, multiplier)
    if not m.finite:
        raise OracleRefusal(Reason.NONFINITE_SOURCE)
    if m.negative or m.kind is Kind.ZERO:
        raise OracleRefusal(Reason.NOT_POSITIVE)
    divisor = round_to_word(BINARY32, 1 / m.exact)
    if not decode(BINARY32, divisor).finite:
        raise OracleRefusal(Reason.OVERFLOW)
    d = exact(BINARY32, divisor)
    if by == "exact" and round_to_word(BINARY32, 1 / d) != multiplier:
        raise OracleRefusal(Reason.NOT_EXACT)
    return Reciprocal(divisor, abs(d * m.exact - 1))
