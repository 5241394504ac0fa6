"""Cases of the casts of recipe.md: words of a source dtype for each (target, rule, dtype) that the language has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tests.conformance.words import power_of_two, splitmix64, with_neighbours, word
from tests.oracle.casts import CASTS, FLOATS, SIGNED, UNSIGNED, cast, word_bits
from tests.oracle.faults import OracleRefusal, Reason
from tests.oracle.words import integer_word

TARGET_BYTES = {"BF16": 2, "FP32": 4, "I32": 4}


@dataclass(frozen=True, slots=True)
class CastCase:
    """A cast and the words to try it on, each on its own merits."""

    dtype: str
    to: str
    by: str

    @property
    def name(self) -> str:
        return f"{self.dtype} to {self.to} by {self.by}"

    @property
    def words(self) -> list[int]:
        """Every word of up to 16 bits; of wider ones the boundaries and a scattering."""
        bits = word_bits(self.dtype)
        if bits <= 16:
            return list(range(1 << bits))
        boundaries = set(_float_boundaries(self.dtype) if self.dtype in FLOATS else _integer_boundaries(self.dtype))
        sequence = splitmix64(bits)
        scattered = [next(sequence) >> (64 - bits) for _ in range(2000)]
        small = [next(sequence) % 5000 for _ in range(200)]
        return [*sorted(boundaries), *scattered, *small]

    def result(self, word: int) -> int | Reason:
        """The oracle's word, or why there is none."""
        try:
            return cast(word, self.dtype, self.to, self.by)
        except OracleRefusal as refusal:
            return refusal.reason


CAST_CASES = [CastCase(dtype, to, by) for (to, by), dtypes in CASTS.items() for dtype in dtypes]

OUTSIDE = [
    (dtype, to, by)
    for dtype in (*FLOATS, *SIGNED, *UNSIGNED, "F8_E4M3", "F8_E5M2", "BOOL")
    for to in TARGET_BYTES
    for by in ("exact", "rne", "checked")
    if dtype not in CASTS.get((to, by), ())
]
"""Casts that the language does not have."""


def _float_boundaries(dtype: str) -> Iterator[int]:
    """About powers of two, the ends of I32, halves, BF16 ties, the ends of BF16 and the dtype's own, in both signs."""
    format = FLOATS[dtype]
    centers = [
        word(dtype, power_of_two(e)) for e in (-126, -30, -1, 0, 1, 7, 8, 16, 23, 24, 30, 31, 32, 52, 53, 63, 100)
    ]
    centers += [word(dtype, value) for value in (Fraction(1, 2), Fraction(3, 2), Fraction(5, 2), 3, 5, 16777215)]
    if dtype == "F64":
        centers += [word(dtype, (1 << 31) - distance) for distance in (1, Fraction(1, 2), Fraction(3, 2))]
    else:
        centers += [0x3F808000, 0x3F818000, 0x7F7F8000, 0x7F7F0000, 0x00008000, 0x00018000, 0x00800000, 0x7FC00000]
        centers += [0x7F800001, 0x7F810000, 0x7FC10000]
    centers += [1, format.nan_threshold, format.sign_bit - 2]
    for center in centers:
        for near in with_neighbours(center):
            yield near
            yield near | format.sign_bit
    yield 0
    yield format.sign_bit


def _integer_boundaries(dtype: str) -> Iterator[int]:
    bits = word_bits(dtype)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if dtype in SIGNED else (0, (1 << bits) - 1)
    for center in (low, -(1 << 31), -(1 << 16), 0, 1 << 16, (1 << 31) - 1, 1 << 31, 1 << 32, high):
        for near in range(center - 2, center + 3):
            if low <= near <= high:
                yield integer_word(bits, near) if dtype in SIGNED else near
