"""Exact values to the nearest word, ties to even (numeric-formats.md, section 7). Subnormals are never flushed."""

from __future__ import annotations

from fractions import Fraction

from tests.oracle.words import FloatFormat, scaled


def divide_to_nearest_even(numerator: int, denominator: int) -> int:
    """numerator / denominator rounded to an integer; both not negative."""
    quotient, remainder = divmod(numerator, denominator)
    above = 2 * remainder - denominator
    return quotient + (above > 0 or (above == 0 and quotient % 2 == 1))


def round_to_integral(value: Fraction) -> int:
    """round_to_integral_ties_to_even of section 7."""
    magnitude = divide_to_nearest_even(abs(value.numerator), value.denominator)
    return -magnitude if value.numerator < 0 else magnitude


def round_to_word(format: FloatFormat, value: Fraction, *, negative: bool | None = None) -> int:
    """The word nearest to `value`; infinity where it rounds past the largest number.

    `negative` gives the sign of a value that is zero, and must agree with any other value; a zero of no given sign is
    +0. Raises OverflowError past the largest number of a format without infinities.
    """
    is_negative = value.numerator < 0 if negative is None else negative
    if value.numerator and is_negative != (value.numerator < 0):
        raise ValueError(f"the sign of {value} contradicts negative={negative}")
    word, _, _ = _nearest(format, value)
    if word >= format.nan_threshold:
        if not format.infinities:
            raise OverflowError(f"{format.name} holds no infinity")
        word = format.nan_threshold
    return word | format.sign_bit if is_negative else word


def round_to_value(format: FloatFormat, value: Fraction) -> Fraction:
    """The number of the format nearest to `value`. Raises OverflowError past the largest number."""
    word, significand, spacing = _nearest(format, value)
    if word >= format.nan_threshold:
        raise OverflowError(f"{value} is past the largest {format.name}")
    return scaled(-significand if value.numerator < 0 else significand, spacing)


def _nearest(format: FloatFormat, value: Fraction) -> tuple[int, int, int]:
    """The positive word nearest to |value|, and that number as (significand, exponent of two), both running on past
    the largest number.

    In each binade [2^e, 2^(e+1)) words are evenly spaced, and consecutive binades have consecutive words, so a
    significand that rounds up to the next power of two needs no case of its own.
    """
    numerator, denominator = abs(value.numerator), value.denominator
    if numerator == 0:
        return 0, 0, 0
    least_exponent = 1 - format.bias
    exponent = max(_binary_exponent(numerator, denominator), least_exponent)
    spacing = exponent - format.fraction_bits
    if spacing > 0:
        denominator <<= spacing
    else:
        numerator <<= -spacing
    significand = divide_to_nearest_even(numerator, denominator)
    return ((exponent - least_exponent) << format.fraction_bits) + significand, significand, spacing


def _binary_exponent(numerator: int, denominator: int) -> int:
    """The e with 2^e <= numerator / denominator < 2^(e+1)."""
    exponent = numerator.bit_length() - denominator.bit_length()
    if exponent > 0:
        denominator <<= exponent
    else:
        numerator <<= -exponent
    return exponent if numerator >= denominator else exponent - 1
