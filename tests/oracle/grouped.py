"""The four grouped signed-integer schemes and their canonical encoder (numeric-formats.md, sections 3.2 and 4 to 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tests.oracle.faults import OracleRefusal, Reason
from tests.oracle.rounding import round_to_integral, round_to_value, round_to_word
from tests.oracle.words import BINARY16, BINARY32, FloatFormat, Kind, Value, decode, exact


@dataclass(frozen=True, slots=True)
class Scheme:
    """A row of the tables of sections 1 and 5."""

    name: str
    code_bits: int
    group: int
    qmin: int
    qmax: int


Q4 = Scheme("Q4G64_F16S", code_bits=4, group=64, qmin=-8, qmax=7)
Q5 = Scheme("Q5G64_F16S", code_bits=5, group=64, qmin=-16, qmax=15)
Q6 = Scheme("Q6G64_F16S", code_bits=6, group=64, qmin=-32, qmax=31)
W8 = Scheme("W8G32_F16S", code_bits=8, group=32, qmin=-127, qmax=127)
SCHEMES = (Q4, Q5, Q6, W8)

LEAST_SCALE = 0x0001
"""The smallest positive binary16, 2^-24."""


@dataclass(frozen=True, slots=True)
class Group:
    """The persistent words of one logical group: a binary16 scale word and signed codes."""

    scale: int
    codes: tuple[int, ...]


def scale_is_valid(scale: int) -> bool:
    """Section 6: positive zero, or finite and positive."""
    value = decode(BINARY16, scale)
    return value.finite and not value.negative


def group_is_valid(scheme: Scheme, group: Group) -> bool:
    """Sections 5 and 6: legal codes, a valid scale, and zero codes only where the scale is zero."""
    legal = all(scheme.qmin <= code <= scheme.qmax for code in group.codes)
    return legal and scale_is_valid(group.scale) and (group.scale != 0 or not any(group.codes))


def groups_of(scheme: Scheme, row: Sequence[int]) -> list[Sequence[int]]:
    """Section 4: runs of `group` elements along the last axis; the last one may be partial."""
    return [row[start : start + scheme.group] for start in range(0, len(row), scheme.group)]


def encode_group(scheme: Scheme, source: FloatFormat, words: Sequence[int]) -> Group:
    """MAXABS_F16_RECIP_RNE_V1, step by step as in section 7. Source words are BF16, binary16 or binary32, all of whose
    finite values are values of binary32.

    Raises OracleRefusal for a source that is not finite (at that element), and for a scale that overflows (at the
    first element of largest magnitude).
    """
    x = _finite_values(source, words)
    magnitudes = [value.magnitude for value in x]
    amax = max(magnitudes)
    if amax == 0:
        return Group(scale=0x0000, codes=(0,) * len(x))
    scale16 = scale_of(scheme, amax)
    if decode(BINARY16, scale16).kind is Kind.INFINITY:
        raise OracleRefusal(Reason.SCALE_OVERFLOW, magnitudes.index(amax))
    inv32 = reciprocal_of(scale16)
    codes = []
    for value in x:
        normalized32 = round_f32(value.exact * inv32)
        rounded = round_to_integral(normalized32)
        codes.append(min(max(rounded, scheme.qmin), scheme.qmax))
    return Group(scale16, tuple(codes))


def scale_of(scheme: Scheme, amax: Fraction) -> int:
    """raw_scale32 and scale16 of section 7 with the rescue from underflow: a binary16 word, infinity on overflow."""
    raw_scale32 = round_f32(amax / scheme.qmax)
    scale16 = round_to_word(BINARY16, raw_scale32)
    return LEAST_SCALE if scale16 == 0 else scale16


@lru_cache(maxsize=1 << 15)
def reciprocal_of(scale16: int) -> Fraction:
    """inv32 of section 7."""
    scale32 = exact(BINARY16, scale16)
    return round_f32(1 / scale32)


def reconstruct(group: Group) -> tuple[int, ...]:
    """Section 6.2: the represented weights of a group as binary32 words."""
    s32 = exact(BINARY16, group.scale)
    return tuple(round_to_word(BINARY32, s32 * code) for code in group.codes)


def round_f32(value: Fraction) -> Fraction:
    """To nearest binary32."""
    return round_to_value(BINARY32, value)


def _finite_values(source: FloatFormat, words: Sequence[int]) -> list[Value]:
    x = [decode(source, word) for word in words]
    for lane, value in enumerate(x):
        if not value.finite:
            raise OracleRefusal(Reason.NONFINITE_SOURCE, lane)
    return x
