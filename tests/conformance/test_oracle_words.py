"""The oracle's reading of words, against the formulas of numeric-formats.md 3.1 and 3.3 and the processor's types."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.nvfp4 import decode_e2m1, divisor_is_valid, reconstruct, scale_is_valid
from tests.oracle.words import (
    BFLOAT16,
    BINARY16,
    BINARY32,
    BINARY64,
    E4M3FN,
    FloatFormat,
    Kind,
    decode,
    exact,
    integer_word,
    signed_integer,
)

PROCESSOR = {BINARY16: "<f2", BINARY32: "<f4", BINARY64: "<f8"}


def agrees_with_processor(format: FloatFormat, word: int) -> bool:
    number = float(np.frombuffer(word.to_bytes(format.bits // 8, "little"), PROCESSOR[format])[0])
    value = decode(format, word)
    if value.kind is Kind.NAN:
        return bool(np.isnan(number))
    if value.kind is Kind.INFINITY:
        return bool(np.isinf(number)) and (number < 0) == value.negative
    return value.exact == Fraction(number) and bool(np.signbit(number)) == value.negative


def test_every_binary16_word_is_the_processors() -> None:
    assert all(agrees_with_processor(BINARY16, word) for word in range(1 << 16))


@given(word=st.integers(0, (1 << 32) - 1))
def test_binary32_words_are_the_processors(word: int) -> None:
    assert agrees_with_processor(BINARY32, word)


@given(word=st.integers(0, (1 << 64) - 1))
def test_binary64_words_are_the_processors(word: int) -> None:
    assert agrees_with_processor(BINARY64, word)


def test_every_bf16_word_expands_to_the_high_half_of_binary32() -> None:
    for word in range(1 << 16):
        assert decode(BFLOAT16, word) == decode(BINARY32, word << 16), f"{word:04X}"


def test_every_e4m3fn_word_follows_the_five_lines_of_section_3_3() -> None:
    for word in range(256):
        sign, e, m = word >> 7, word >> 3 & 0xF, word & 7
        value = decode(E4M3FN, word)
        assert value.negative == bool(sign)
        if e == 15 and m == 7:
            assert value.kind is Kind.NAN
        elif e == 0 and m == 0:
            assert value.kind is Kind.ZERO
        elif e == 0:
            assert (value.kind, value.magnitude) == (Kind.SUBNORMAL, Fraction(m, 2**9))
        else:
            assert (value.kind, value.magnitude) == (Kind.NORMAL, (1 + Fraction(m, 8)) * Fraction(2) ** (e - 7))


def test_every_e2m1_word_has_sign_exponent_and_mantissa() -> None:
    for word in range(16):
        e, m = word >> 1 & 3, word & 1
        magnitude = Fraction(m, 2) if e == 0 else (1 + Fraction(m, 2)) * Fraction(2) ** (e - 1)
        assert decode_e2m1(word) == (-magnitude if word & 8 else magnitude)
    with pytest.raises(ValueError, match="4-bit"):
        decode_e2m1(16)


@pytest.mark.parametrize(
    ("format", "least", "largest"),
    [
        (BFLOAT16, Fraction(1, 2**133), Fraction(255 * 2**120)),
        (BINARY16, Fraction(1, 2**24), Fraction(65504)),
        (BINARY32, Fraction(1, 2**149), Fraction((2**24 - 1) * 2**104)),
        (E4M3FN, Fraction(1, 2**9), Fraction(448)),
    ],
    ids=lambda item: getattr(item, "name", ""),
)
def test_ends_of_the_formats(format: FloatFormat, least: Fraction, largest: Fraction) -> None:
    assert exact(format, 1) == least
    assert exact(format, format.nan_threshold - 1) == largest
    assert exact(format, (format.nan_threshold - 1) | format.sign_bit) == -largest
    with pytest.raises(ValueError, match="no exact value"):
        exact(format, format.nan_threshold)
    with pytest.raises(ValueError, match="bit word"):
        decode(format, 1 << format.bits)


def test_i32_words() -> None:
    for value, word in [(0, 0), (-1, 0xFFFFFFFF), (2147483647, 0x7FFFFFFF), (-2147483648, 0x80000000)]:
        assert signed_integer(32, word) == value
        assert integer_word(32, value) == word
    for value in (1 << 31, -(1 << 31) - 1):
        with pytest.raises(ValueError, match="32 bits"):
            integer_word(32, value)


def test_nvfp4_validity_and_equation() -> None:
    assert [word for word in range(256) if scale_is_valid(word)] == list(range(0x7F))
    valid = {0x00000001, 0x3F800000, 0x7F7FFFFF}
    invalid = {0, 0x80000000, 0x80000001, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000}
    assert {word for word in valid | invalid if divisor_is_valid(word)} == valid
    # 6 * 448 / 3, and the division is exact, not rounded to any width
    assert reconstruct(0x7, 0x7E, 0x40400000) == 896
    assert reconstruct(0xF, 0x01, 0x40400000) == Fraction(-6, 512 * 3)
    assert reconstruct(0x1, 0x01, 0x7F7FFFFF) == Fraction(1, 1024) / exact(BINARY32, 0x7F7FFFFF)
