"""The oracle's roundings: nearest by definition, and equal to the processor's where it has them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.rounding import round_to_integral, round_to_value, round_to_word
from tests.oracle.words import BFLOAT16, BINARY16, BINARY32, E4M3FN, FloatFormat, decode, exact

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SINGLE = st.floats(allow_nan=False, allow_infinity=False, width=32)
FORMATS = pytest.mark.parametrize("format", [BFLOAT16, BINARY16, E4M3FN], ids=lambda format: format.name)


@FORMATS
def test_every_number_rounds_to_its_own_word(format: FloatFormat) -> None:
    for word in range(1 << format.bits):
        value = decode(format, word)
        if value.finite:
            assert round_to_word(format, value.exact, negative=value.negative) == word
            assert round_to_value(format, value.exact) == value.exact


@FORMATS
def test_between_numbers_the_nearest_wins_and_ties_are_even(format: FloatFormat) -> None:
    for low in range(format.nan_threshold - 1):
        left, right = exact(format, low), exact(format, low + 1)
        middle, nudge = (left + right) / 2, (right - left) / 1000
        even = low + low % 2
        for sign, bit in ((1, 0), (-1, format.sign_bit)):
            assert round_to_word(format, sign * (middle - nudge)) == low | bit or low == 0
            assert round_to_word(format, sign * middle, negative=bool(bit)) == even | bit
            assert round_to_word(format, sign * (middle + nudge)) == (low + 1) | bit


@FORMATS
def test_past_the_largest_number(format: FloatFormat) -> None:
    largest, before = (exact(format, format.nan_threshold - distance) for distance in (1, 2))
    limit = largest + (largest - before) / 2
    assert round_to_word(format, limit - Fraction(1, 1000)) == format.nan_threshold - 1
    with pytest.raises(OverflowError):
        round_to_value(format, limit + 1)
    if format.infinities:
        assert round_to_word(format, limit) == format.nan_threshold
        assert round_to_word(format, -limit) == format.nan_threshold | format.sign_bit
    else:
        with pytest.raises(OverflowError):
            round_to_word(format, limit + 1)


@given(number=FINITE)
def test_binary32_and_binary16_are_the_processors(number: float) -> None:
    with np.errstate(all="ignore"):
        single, half = np.float64(number).astype(np.float32), np.float64(number).astype(np.float16)
    negative = bool(np.signbit(number))
    assert round_to_word(BINARY32, Fraction(number), negative=negative) == int(single.view(np.uint32))
    assert round_to_word(BINARY16, Fraction(number), negative=negative) == int(half.view(np.uint16))


@given(a=SINGLE, b=SINGLE.filter(bool))
def test_quotients_and_products_are_the_processors(a: float, b: float) -> None:
    with np.errstate(all="ignore"):
        quotient, product = np.float32(a) / np.float32(b), np.float32(a) * np.float32(b)
    negative = bool(np.signbit(a)) != bool(np.signbit(b))
    assert round_to_word(BINARY32, Fraction(a) / Fraction(b), negative=negative) == int(quotient.view(np.uint32))
    assert round_to_word(BINARY32, Fraction(a) * Fraction(b), negative=negative) == int(product.view(np.uint32))


@pytest.mark.parametrize(
    ("value", "rounded"), [("1/2", 0), ("-1/2", 0), ("3/2", 2), ("-3/2", -2), ("5/2", 2), ("-5/2", -2), ("7/4", 2)]
)
def test_integral_rounding_is_that_of_section_7(value: str, rounded: int) -> None:
    assert round_to_integral(Fraction(value)) == rounded


def test_a_sign_that_contradicts_is_refused() -> None:
    with pytest.raises(ValueError, match="contradicts"):
        round_to_word(BINARY32, Fraction(1), negative=True)
    assert round_to_word(BINARY32, Fraction(0)) == 0
    assert round_to_word(BINARY32, Fraction(0), negative=True) == 0x80000000
