"""Source words for cases: by exact value, next to one another, and scattered by a fixed sequence."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tests.oracle.casts import FLOATS
from tests.oracle.rounding import round_to_word
from tests.oracle.words import decode

DTYPES = ("BF16", "F16", "F32")
"""The source dtypes of encoder profiles."""

NONFINITE = {
    "BF16": (0x7F80, 0xFF80, 0x7F81, 0x7FC0, 0xFFFF),
    "F16": (0x7C00, 0xFC00, 0x7C01, 0x7E00, 0xFFFF),
    "F32": (0x7F800000, 0xFF800000, 0x7F800001, 0x7FC00000, 0xFFFFFFFF),
}
"""Infinities, a signaling NaN, a quiet NaN and one with every payload bit, of each source dtype."""

SIGN = {"BF16": 0x8000, "F16": 0x8000, "F32": 0x80000000}
"""The sign bit of each source dtype."""

ORDINARY_EXPONENTS = {"BF16": range(118, 130), "F16": range(8, 20), "F32": range(118, 130)}
"""Biased exponents of magnitudes about one, as weights have."""

WITHOUT_OVERFLOW = {"BF16": range(142), "F16": range(31), "F32": range(142)}
"""Biased exponents of all magnitudes for which every grouped format has a scale."""


def word(dtype: str, value: Fraction | int) -> int:
    """The word of exactly this value. Raises ValueError where the dtype has none."""
    format = FLOATS[dtype]
    result = round_to_word(format, Fraction(value))
    meaning = decode(format, result)
    if not meaning.finite or meaning.exact != value:
        raise ValueError(f"{value} is no {dtype}")
    return result


def with_neighbours(center: int, reach: int = 1) -> list[int]:
    """A word and those `reach` places to either side, which are the next smaller and larger magnitudes."""
    return list(range(center - reach, center + reach + 1))


def power_of_two(exponent: int) -> Fraction:
    """2^exponent."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def splitmix64(seed: int) -> Iterator[int]:
    """The 64-bit integers of the splitmix64 sequence."""
    mask = (1 << 64) - 1
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield z ^ (z >> 31)


def scattered_words(dtype: str, count: int, seed: int, *, exponents: range) -> tuple[int, ...]:
    """Finite words of both signs with any fraction and biased exponents of this range."""
    format = FLOATS[dtype]
    sequence = splitmix64(seed)
    words = []
    for _ in range(count):
        bits = next(sequence)
        fraction = bits % (1 << format.fraction_bits)
        exponent = exponents[(bits >> 52) % len(exponents)]
        sign = format.sign_bit if bits >> 63 else 0
        words.append(sign | exponent << format.fraction_bits | fraction)
    return tuple(words)
