"""`nonfinite: reject` and `require: positive` of recipe.md, against the meaning of the words."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conformance import native
from tests.conformance.cast_cases import CastCase
from tests.conformance.words import NONFINITE
from tests.oracle.words import BFLOAT16, BINARY32, Kind, decode, signed_integer
from workers import _native

F32_WORDS = CastCase("F32", "I32", "checked").words


def one_among(word: int, width: int, filler: int) -> native.Bytes:
    """Two rows of three words, with this one at row 1, column 2."""
    words = [filler] * 5 + [word]
    return native.array(b"".join(each.to_bytes(width, "little") for each in words))


def test_every_bf16_word_is_finite_or_refused() -> None:
    for word in range(1 << 16):
        fault = _native.check_finite(one_among(word, 2, 0x3F80), "BF16", 3)
        assert (fault is None) == decode(BFLOAT16, word).finite, f"{word:04X}"
        if fault:
            assert (fault.kind, fault.row, fault.column, fault.word) == ("non-finite", 1, 2, word)


def test_f32_words_are_finite_or_refused() -> None:
    for word in F32_WORDS:
        fault = _native.check_finite(one_among(word, 4, 0x3F800000), "F32", 3)
        assert (fault is None) == decode(BINARY32, word).finite, f"{word:08X}"


def test_f32_words_are_positive_or_refused() -> None:
    for word in F32_WORDS:
        value = decode(BINARY32, word)
        fault = _native.check_positive(one_among(word, 4, 0x3F800000), "F32", 3)
        expected = None if value.finite and value.exact > 0 else "not-positive" if value.finite else "non-finite"
        assert (fault and fault.kind) == expected, f"{word:08X}"
        if fault:
            assert (fault.row, fault.column, fault.word) == (1, 2, word)


@pytest.mark.parametrize("word", [0, 1, 2, 0x7FFFFFFE, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x7F800000])
def test_i32_words_are_positive_or_refused(word: int) -> None:
    fault = _native.check_positive(one_among(word, 4, 1), "I32", 3)
    assert (fault and fault.kind) == (None if signed_integer(32, word) > 0 else "not-positive")


@pytest.mark.parametrize("dtype", ["BF16", "F32"])
def test_the_first_of_many_is_named(dtype: str) -> None:
    width = 2 if dtype == "BF16" else 4
    words = np.zeros(10_000, f"<u{width}")
    words[[9_998, 7_003, 7_004]] = NONFINITE[dtype][:3]
    fault = _native.check_finite(words.view(np.uint8), dtype, 100)
    assert fault is not None
    assert (fault.row, fault.column, fault.word) == (70, 3, NONFINITE[dtype][1])
    assert decode(BFLOAT16 if dtype == "BF16" else BINARY32, fault.word).kind is Kind.INFINITY
