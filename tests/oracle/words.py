"""Words and what they mean exactly (numeric-formats.md, sections 3.1, 3.3 and 6). Nothing here rounds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple


class Kind(Enum):
    """The classes of values that section 3.1 lists."""

    ZERO = "zero"
    SUBNORMAL = "subnormal"
    NORMAL = "normal"
    INFINITY = "infinity"
    NAN = "NaN"


@dataclass(frozen=True, eq=False)
class FloatFormat:
    """From the highest bit down: one sign bit, `exponent_bits` with `bias`, `fraction_bits`.

    With `infinities` the exponent of all ones holds infinity and NaN; without, it holds normal numbers, and only the
    fraction of all ones is NaN.
    """

    name: str
    exponent_bits: int
    fraction_bits: int
    bias: int
    infinities: bool = True

    @cached_property
    def bits(self) -> int:
        return 1 + self.exponent_bits + self.fraction_bits

    @cached_property
    def sign_bit(self) -> int:
        return 1 << (self.bits - 1)

    @cached_property
    def top_exponent(self) -> int:
        return (1 << self.exponent_bits) - 1

    @cached_property
    def nan_threshold(self) -> int:
        """The least positive word past every number: infinity, or NaN where there is none."""
        if self.infinities:
            return self.top_exponent << self.fraction_bits
        return self.sign_bit - 1


BFLOAT16 = FloatFormat("bfloat16", exponent_bits=8, fraction_bits=7, bias=127)
BINARY16 = FloatFormat("binary16", exponent_bits=5, fraction_bits=10, bias=15)
BINARY32 = FloatFormat("binary32", exponent_bits=8, fraction_bits=23, bias=127)
BINARY64 = FloatFormat("binary64", exponent_bits=11, fraction_bits=52, bias=1023)
E4M3FN = FloatFormat("E4M3FN", exponent_bits=4, fraction_bits=3, bias=7, infinities=False)


class Value(NamedTuple):
    """What a floating-point word means. `magnitude` is 0 unless the value is finite."""

    kind: Kind
    negative: bool
    magnitude: Fraction

    @property
    def finite(self) -> bool:
        return self.kind is not Kind.INFINITY and self.kind is not Kind.NAN

    @property
    def exact(self) -> Fraction:
        """The signed value. Raises ValueError where there is none."""
        if not self.finite:
            raise ValueError(f"{self.kind.value} has no exact value")
        return -self.magnitude if self.negative else self.magnitude


@lru_cache(maxsize=1 << 18)
def decode(format: FloatFormat, word: int) -> Value:
    """The meaning of a word of this format."""
    if not 0 <= word < 1 << format.bits:
        raise ValueError(f"{word:#x} is no {format.bits}-bit word")
    negative = bool(word & format.sign_bit)
    exponent = (word >> format.fraction_bits) & format.top_exponent
    fraction = word & ((1 << format.fraction_bits) - 1)
    if word & ~format.sign_bit >= format.nan_threshold:
        infinite = format.infinities and fraction == 0
        return Value(Kind.INFINITY if infinite else Kind.NAN, negative, Fraction(0))
    if exponent:
        significand = fraction + (1 << format.fraction_bits)
        return Value(Kind.NORMAL, negative, scaled(significand, exponent - format.bias - format.fraction_bits))
    least = 1 - format.bias - format.fraction_bits
    return Value(Kind.SUBNORMAL if fraction else Kind.ZERO, negative, scaled(fraction, least))


def exact(format: FloatFormat, word: int) -> Fraction:
    """The signed value of a finite word. Raises ValueError for infinity and NaN."""
    return decode(format, word).exact


def signed_integer(bits: int, word: int) -> int:
    """A two's-complement word as an integer: I32 of section 3.1, and the codes of section 5."""
    if not 0 <= word < 1 << bits:
        raise ValueError(f"{word:#x} is no {bits}-bit word")
    return word if word < 1 << (bits - 1) else word - (1 << bits)


def integer_word(bits: int, value: int) -> int:
    """An integer as a two's-complement word of this width. Raises ValueError where it does not fit."""
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise ValueError(f"{value} does not fit into {bits} bits")
    return value % (1 << bits)


def scaled(significand: int, exponent: int) -> Fraction:
    """significand * 2^exponent."""
    return Fraction(significand << exponent) if exponent >= 0 else Fraction(significand, 1 << -exponent)
