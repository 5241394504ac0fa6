"""Every kind of fault: where it is, and that it is the first in row-major order."""

from __future__ import annotations

import numpy as np
import pytest

from tests.native.planes import (
    CODE_BITS,
    DTYPES,
    GROUP,
    HIGH_BYTES,
    WORD,
    Planes,
    as_bytes,
    blank_grouped,
    derive_fp8,
    derive_grouped,
    encode_fp8,
    encode_grouped,
    groups_per_row,
    place,
    try_fp8,
    try_grouped,
)
from workers import _native

pytestmark = pytest.mark.usefixtures("every_instruction_set")

ONE = {"BF16": 0x3F80, "F16": 0x3C00, "F32": 0x3F800000}
INFINITY = {"BF16": 0x7F80, "F16": 0x7C00, "F32": 0x7F800000}
SIGN = {"BF16": 0x8000, "F16": 0x8000, "F32": 0x80000000}
LARGEST = {"BF16": 0x7F7F, "F32": 0x7F7FFFFF}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("code_bits", CODE_BITS)
@pytest.mark.parametrize("column", [0, 31, 64, 129])
def test_grouped_source_that_is_not_finite(dtype: str, code_bits: int, column: int) -> None:
    for word in (INFINITY[dtype], INFINITY[dtype] | SIGN[dtype], INFINITY[dtype] + 1, SIGN[dtype] - 1):
        words = np.full((3, 130), ONE[dtype], WORD[dtype])
        words[1, column:] = word
        words[2] = word
        planes, fault = try_grouped(words, dtype, code_bits)
        assert place(fault) == ("non-finite", 1, column, word)
        expected = encode_grouped(np.full((3, 130), ONE[dtype], WORD[dtype]), dtype, code_bits)
        assert place(derive_grouped(words, dtype, code_bits, expected).fault) == ("non-finite", 1, column, word)
        assert np.array_equal(
            planes.scales[: 2 * groups_per_row(code_bits, 130)], expected.scales[: len(planes.scales) // 3]
        )


@pytest.mark.parametrize("dtype", ["BF16", "F32"])
@pytest.mark.parametrize("code_bits", CODE_BITS)
def test_grouped_scale_that_overflows_is_named_by_its_largest_word(dtype: str, code_bits: int) -> None:
    words = np.full((2, 128), ONE[dtype], WORD[dtype])
    start = GROUP[code_bits]
    words[1, start + 5 :] = LARGEST[dtype] - 1
    words[1, start + 9 :] = LARGEST[dtype] | SIGN[dtype]
    expected = ("scale-overflow", 1, start + 9, LARGEST[dtype] | SIGN[dtype])
    assert place(try_grouped(words, dtype, code_bits)[1]) == expected
    good = encode_grouped(np.full((2, 128), ONE[dtype], WORD[dtype]), dtype, code_bits)
    assert place(derive_grouped(words, dtype, code_bits, good).fault) == expected


@pytest.mark.parametrize("code_bits", CODE_BITS)
def test_the_largest_scale_and_the_least_that_overflows(code_bits: int) -> None:
    """A quotient below 65520 rounds to the largest binary16, from there to infinity."""
    qmax = 2 ** (code_bits - 1) - 1
    limit = np.array([[65520.0 * qmax]], np.float32).view(np.uint32)
    assert place(try_grouped(limit, "F32", code_bits)[1]) == ("scale-overflow", 0, 0, int(limit[0, 0]))
    below = encode_grouped(limit - np.uint32(1), "F32", code_bits)
    assert below.scales[:2].view(np.uint16)[0] == 0x7BFF


@pytest.mark.parametrize("dtype", DTYPES)
def test_fp8_source_that_is_not_finite(dtype: str) -> None:
    for word in (INFINITY[dtype], INFINITY[dtype] | SIGN[dtype], SIGN[dtype] - 1):
        words = np.full((3, 67), ONE[dtype], WORD[dtype])
        words[1, 66] = word
        assert place(try_fp8(words, dtype)[1]) == ("non-finite", 1, 66, word)
        planes = encode_fp8(np.full((3, 67), ONE[dtype], WORD[dtype]), dtype)
        assert place(derive_fp8(words, dtype, planes).fault) == ("non-finite", 1, 66, word)


def test_fp8_source_that_rounds_to_infinity_counts_as_not_finite() -> None:
    """Halfway between the largest BF16 and 2^128 the tie goes to the even word, which is infinity's."""
    words = np.array([[0x3F800000, 0x7F7F8000, 0xFF7F8000]], np.uint32)
    assert place(try_fp8(words, "F32")[1]) == ("non-finite", 0, 1, 0x7F7F8000)
    good = encode_fp8(np.full((1, 3), 0x3F800000, np.uint32), "F32")
    assert place(derive_fp8(words, "F32", good).fault) == ("non-finite", 0, 1, 0x7F7F8000)
    assert try_fp8(np.array([[0x7F7F7FFF]], np.uint32), "F32")[1] is None


def test_fp8_rows_whose_scale_has_no_finite_reciprocal() -> None:
    """448 times a BF16 scale of n * 2^-133 is n * 7 * 2^-127."""
    for scale in range(1, 0x40):
        amax = np.array([scale * 7 * 2.0**-127], np.float64).astype(np.float32).view(np.uint32) >> np.uint32(16)
        words = np.full((2, 5), 0x3F80, np.uint16)
        words[1] = 0
        words[1, 3] = amax[0]
        planes, fault = try_fp8(words, "BF16")
        good = encode_fp8(np.full((2, 5), 0x3F80, np.uint16), "BF16")
        if scale <= 0x20:
            assert place(fault) == ("row-too-small", 1, 0, scale)
            assert place(derive_fp8(words, "BF16", good).fault) == ("row-too-small", 1, 0, scale)
        else:
            assert fault is None
            assert derive_fp8(words, "BF16", planes).mismatch is None


def test_fp8_row_of_the_least_source_is_too_small() -> None:
    words = np.array([[0x8000, 0x8001]], np.uint16)
    assert place(try_fp8(words, "BF16")[1]) == ("row-too-small", 0, 0, 1)


def legal_planes(code_bits: int, k: int = 130) -> Planes:
    """Three rows of ones."""
    return encode_grouped(np.full((3, k), 0x3F80, np.uint16), "BF16", code_bits)


def legal_grouped(code_bits: int, planes: Planes, k: int = 130) -> tuple[str, int, int, int] | None:
    return place(_native.legal_grouped(code_bits, k, planes.codes, planes.high, planes.scales))


@pytest.mark.parametrize("code_bits", CODE_BITS)
@pytest.mark.parametrize(
    ("word", "kind"),
    [
        (0x8001, "negative-scale"),
        (0xFBFF, "negative-scale"),
        (0x8000, "negative-zero-scale"),
        (0x7C00, "infinite-scale"),
        (0xFC00, "infinite-scale"),
        (0x7C01, "nan-scale"),
        (0xFFFF, "nan-scale"),
    ],
)
def test_illegal_grouped_scale(code_bits: int, word: int, kind: str) -> None:
    planes = legal_planes(code_bits)
    scales = planes.scales.view(np.uint16).reshape(3, -1)
    scales[1:, 1] = word
    assert legal_grouped(code_bits, planes) == (kind, 1, GROUP[code_bits], word)


@pytest.mark.parametrize("code_bits", CODE_BITS)
def test_code_under_a_zero_scale(code_bits: int) -> None:
    planes = legal_planes(code_bits)
    planes.scales.view(np.uint16).reshape(3, -1)[1, 0] = 0
    base = planes.codes.reshape(3, groups_per_row(code_bits, 130), 32)
    base[1, 0] = 0
    planes.high.reshape(3, groups_per_row(code_bits, 130), -1)[1, 0] = 0
    assert legal_grouped(code_bits, planes) is None
    base[1, 0, 3] = 0x50
    expected = {4: (7, 5), 5: (7, 5), 6: (7, 5), 8: (3, 0x50)}[code_bits]
    assert legal_grouped(code_bits, planes) == ("code-under-zero-scale", 1, *expected)


@pytest.mark.parametrize("code_bits", [5, 6])
def test_high_bits_under_a_zero_scale(code_bits: int) -> None:
    planes = blank_grouped(code_bits, 1, 64)
    for plane in (planes.codes, planes.high, planes.scales):
        plane[:] = 0
    planes.high[3] = 0x40
    lane, code = {5: (30, 0x10), 6: (15, 0x10)}[code_bits]
    assert legal_grouped(code_bits, planes, 64) == ("code-under-zero-scale", 0, lane, code)


def test_w8_code_of_minus_128() -> None:
    planes = legal_planes(8)
    planes.codes[8 * 32 + 32 + 7 :: 32] = 0x80
    assert legal_grouped(8, planes) == ("code-out-of-range", 1, 39, 0x80)


@pytest.mark.parametrize("code_bits", CODE_BITS)
def test_padding_lanes_of_the_last_group(code_bits: int) -> None:
    planes = legal_planes(code_bits)
    group = 130 // GROUP[code_bits]
    base = planes.codes.reshape(3, groups_per_row(code_bits, 130), 32)
    base[2, group, 31] = 0x10
    column = group * GROUP[code_bits] + GROUP[code_bits] - 1
    assert legal_grouped(code_bits, planes) == ("nonzero-padding", 2, column, 0x10 if code_bits == 8 else 1)


@pytest.mark.parametrize("code_bits", CODE_BITS)
def test_padding_groups_past_k(code_bits: int) -> None:
    group = 130 // GROUP[code_bits] + 1
    for word in (1, 0x3C00, 0x8000, 0x7C00):
        planes = legal_planes(code_bits)
        planes.scales.view(np.uint16).reshape(3, -1)[0, group] = word
        assert legal_grouped(code_bits, planes) == ("nonzero-padding", 0, group * GROUP[code_bits], word)
    if HIGH_BYTES[code_bits]:
        planes = legal_planes(code_bits)
        planes.high.reshape(3, groups_per_row(code_bits, 130), -1)[0, group, 0] = 1
        assert legal_grouped(code_bits, planes) == ("nonzero-padding", 0, group * GROUP[code_bits], 0x10)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        (0x8001, "negative-scale"),
        (0x8000, "negative-zero-scale"),
        (0x7F80, "infinite-scale"),
        (0xFF80, "infinite-scale"),
        (0x7F81, "nan-scale"),
        (0xFFFF, "nan-scale"),
    ],
)
def test_illegal_fp8_scale(word: int, kind: str) -> None:
    codes, scales = np.full(9, 0x7F, np.uint8), np.array([0x3F80, word, word], np.uint16)
    codes[:3] = 0x7E
    assert place(_native.legal_fp8_row(3, codes, as_bytes(scales))) == (kind, 1, 0, word)


def test_illegal_fp8_codes() -> None:
    scales = as_bytes(np.array([0x3F80, 0x0000], np.uint16))
    for code, under in ((0x7F, "nan-code"), (0xFF, "nan-code"), (0x01, "code-under-zero-scale")):
        codes = np.array([0xFE, 0x80, 0x01, 0x80, 0x00, code], np.uint8)
        assert place(_native.legal_fp8_row(3, codes, scales)) == (under, 1, 2, code)
    codes = np.array([0xFE, 0x7F, 0xFF, 0x80, 0x00, 0x80], np.uint8)
    assert place(_native.legal_fp8_row(3, codes, scales)) == ("nan-code", 0, 1, 0x7F)


@pytest.mark.parametrize("swizzled", [False, True])
def test_illegal_nvfp4_scales(swizzled: bool) -> None:
    rng = np.random.default_rng(7)
    kinds = {0x7F: "nan-scale", 0xFF: "nan-scale", 0x80: "negative-zero-scale", 0x81: "negative-scale"}
    for word, kind in kinds.items():
        natural = rng.integers(0, 0x7F, (256, 20), dtype=np.uint8)
        natural[130, 13] = word
        natural[131] = 0xFE
        stored = as_bytes(natural)
        if swizzled:
            stored = np.empty_like(stored)
            _native.swizzle_scales(as_bytes(natural), 320, stored)
        assert place(_native.legal_nvfp4_scales(stored, 320, swizzled)) == (kind, 130, 13 * 16, word)


def test_words_that_are_not_finite() -> None:
    words = np.full((5000, 3), 0x3F80, np.uint16)
    assert _native.check_finite(as_bytes(words), "BF16", 3) is None
    words[4100, 2] = 0xFF80
    words[4101] = 0x7FFF
    assert place(_native.check_finite(as_bytes(words), "BF16", 3)) == ("non-finite", 4100, 2, 0xFF80)
    wide = words.astype(np.uint32) << np.uint32(16) | np.uint32(1)
    assert place(_native.check_finite(as_bytes(wide), "F32", 3)) == ("non-finite", 4100, 2, 0xFF800001)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        (0x00000000, "not-positive"),
        (0x80000000, "not-positive"),
        (0xBF800000, "not-positive"),
        (0x7F800000, "non-finite"),
        (0xFF800000, "non-finite"),
        (0x7FC00000, "non-finite"),
        (0xFFC00000, "non-finite"),
    ],
)
def test_words_that_are_not_positive(word: int, kind: str) -> None:
    words = np.array([[0x00000001, 0x7F7FFFFF, 0x3F800000], [0x3F800000, word, word]], np.uint32)
    assert place(_native.check_positive(as_bytes(words), "F32", 3)) == (kind, 1, 1, word)


def test_integers_that_are_not_positive() -> None:
    for value in (0, -1, -(2**31)):
        words = np.array([1, 2**31 - 1, value], np.int32)
        word = value & 0xFFFFFFFF
        assert place(_native.check_positive(as_bytes(words), "I32", 1)) == ("not-positive", 2, 0, word)
    assert _native.check_positive(as_bytes(np.array([1, 2**31 - 1], np.int32)), "I32", 2) is None


def test_faults_and_mismatches_say_what_they_hold() -> None:
    fault = _native.check_finite(as_bytes(np.array([0, 0x7F80], np.uint16)), "BF16", 1)
    assert repr(fault) == "Fault(kind='non-finite', row=1, column=0, word=32640)"
    mismatch = _native.compare_words(np.zeros(4, np.uint8), np.array([0, 0, 0, 1], np.uint8), 2, 2)
    assert repr(mismatch) == "Mismatch(plane='words', row=0, column=1, expected=0, found=256)"
