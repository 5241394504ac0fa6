"""Encoders and verifier, which share no arithmetic, agree on groups that nobody chose."""

from __future__ import annotations

import numpy as np
import pytest

from tests.native.planes import (
    CODE_BITS,
    DTYPES,
    GROUP,
    Planes,
    Words,
    derive_fp8,
    derive_grouped,
    encode_fp8,
    encode_grouped,
    float_words,
    try_grouped,
)
from tests.native.wrong_encoders import RIGHT, grouped_codes
from workers import _native

pytestmark = pytest.mark.usefixtures("every_instruction_set")

# Biased exponents, by dtype: as of trained weights, down to the rescue of scales, subnormal, and up to large scales.
BANDS = {
    "BF16": [(112, 124), (85, 110), (0, 1), (0, 3), (125, 141)],
    "F16": [(5, 16), (0, 4), (0, 1), (1, 2), (20, 31)],
    "F32": [(112, 124), (85, 110), (0, 1), (0, 3), (125, 141)],
}
GROUPS_A_BAND = 40_000


def check_grouped(words: Words, dtype: str, code_bits: int) -> None:
    planes = encode_grouped(words, dtype, code_bits)
    derivation = derive_grouped(words, dtype, code_bits, planes)
    assert (derivation.mismatch, derivation.fault) == (None, None)
    k = words.shape[1]
    assert _native.legal_grouped(code_bits, k, planes.codes, planes.high, planes.scales) is None


def tied_words(rng: np.random.Generator, dtype: str, shape: tuple[int, int], code_bits: int) -> Words:
    """Few-bit values under a largest one that makes the scale a power of two, so that quotients fall on half codes."""
    qmax = 2 ** (code_bits - 1) - 1
    halves = rng.integers(-2 * qmax, 2 * qmax + 1, shape).astype(np.float32) / np.float32(2)
    halves[:, 0] = qmax
    values = halves * np.exp2(rng.integers(-10, 3, (shape[0], 1))).astype(np.float32)
    if dtype == "F16":
        return values.astype(np.float16).view(np.uint16)
    if dtype == "F32":
        return values.view(np.uint32)
    return (values.view(np.uint32) >> np.uint32(16)).astype(np.uint16)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("code_bits", CODE_BITS)
def test_millions_of_random_groups(dtype: str, code_bits: int) -> None:
    rng = np.random.default_rng([code_bits, len(dtype)])
    k = 2 * 128 // GROUP[code_bits] * GROUP[code_bits]
    shape = (GROUPS_A_BAND * GROUP[code_bits] // k, k)
    for band in BANDS[dtype]:
        check_grouped(float_words(rng, dtype, shape, band), dtype, code_bits)
    check_grouped(tied_words(rng, dtype, shape, code_bits), dtype, code_bits)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("code_bits", CODE_BITS)
def test_any_words_at_all(dtype: str, code_bits: int) -> None:
    """Encoder and verifier refuse the same groups, at the same places."""
    rng = np.random.default_rng(code_bits)
    refused = 0
    for _ in range(300):
        top = {"BF16": 256, "F16": 32, "F32": 256}[dtype]
        words = float_words(rng, dtype, (1, int(rng.integers(1, 90))), (0, top))
        planes, fault = try_grouped(words, dtype, code_bits)
        derivation = derive_grouped(words, dtype, code_bits, planes)
        assert repr(derivation.fault) == repr(fault)
        assert derivation.mismatch is None
        refused += fault is not None
    assert 0 < refused < 300


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("code_bits", CODE_BITS)
def test_every_width_of_a_row(dtype: str, code_bits: int) -> None:
    rng = np.random.default_rng(code_bits)
    for k in range(1, 258):
        words = float_words(rng, dtype, (3, k), BANDS[dtype][0])
        check_grouped(words, dtype, code_bits)
        for row in range(3):
            alone = encode_grouped(words[row : row + 1], dtype, code_bits)
            whole = encode_grouped(words, dtype, code_bits)
            assert alone.codes.tobytes() == np.split(whole.codes, 3)[row].tobytes()
            assert alone.high.tobytes() == np.split(whole.high, 3)[row].tobytes()
            assert alone.scales.tobytes() == np.split(whole.scales, 3)[row].tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_fp8_rows(dtype: str) -> None:
    rng = np.random.default_rng(5)
    bands = {
        "BF16": [(100, 124), (12, 40), (200, 255)],
        "F16": [(5, 16), (0, 4), (0, 1)],
        "F32": [(100, 124), (12, 40)],
    }
    for band in bands[dtype]:
        for k in (1, 7, 64, 130, 257):
            words = float_words(rng, dtype, (200_000 // k, k), band)
            words[::17] &= words.dtype.type(1 << (8 * words.itemsize - 1))
            planes = encode_fp8(words, dtype)
            derivation = derive_fp8(words, dtype, planes)
            assert (derivation.mismatch, derivation.fault) == (None, None)
            assert _native.legal_fp8_row(k, planes.codes, planes.scales) is None


def test_an_fp8_row_of_zeros_has_positive_zeros_only() -> None:
    """Any other row keeps the sign of what rounds to zero; F32 words that round to a BF16 zero are zeros."""
    words = np.array([[0x80000000, 0x80000001, 0x00007FFF], [0x80000000, 0x3F800000, 0x80000001]], np.uint32)
    planes = encode_fp8(words, "F32")
    assert planes.codes.tolist() == [0, 0, 0, 0x80, 0x7E, 0x80]
    assert planes.scales[:2].tolist() == [0, 0]
    assert derive_fp8(words, "F32", planes).mismatch is None
    wrong = Planes(planes.codes.copy(), planes.high, planes.scales)
    wrong.codes[0] = 0x80
    mismatch = derive_fp8(words, "F32", wrong).mismatch
    assert mismatch is not None
    assert (mismatch.plane, mismatch.row, mismatch.column, mismatch.expected, mismatch.found) == (
        "codes",
        0,
        0,
        0,
        0x80,
    )


@pytest.mark.parametrize("code_bits", CODE_BITS)
def test_statistics_are_the_same_for_any_split_into_blocks(code_bits: int) -> None:
    rng = np.random.default_rng(11)
    words = float_words(rng, "F32", (12, 333), (100, 124))
    whole = derive_grouped(words, "F32", code_bits, encode_grouped(words, "F32", code_bits), statistics=True)
    parts = [
        derive_grouped(block, "F32", code_bits, encode_grouped(block, "F32", code_bits), statistics=True)
        for block in np.split(words, 4)
    ]
    assert np.concatenate([part.row_error for part in parts]).tobytes() == whole.row_error.tobytes()
    assert np.concatenate([part.row_signal for part in parts]).tobytes() == whole.row_signal.tobytes()
    assert max(part.max_abs for part in parts) == whole.max_abs
    scale, codes = grouped_codes(words.view(np.float32), code_bits, RIGHT)
    decoded = (codes * scale.astype(np.float64)[:, :, None]).reshape(12, -1)[:, :333]
    values = words.view(np.float32).astype(np.float64)
    np.testing.assert_allclose(whole.row_signal, (values**2).sum(axis=1), rtol=1e-13)
    np.testing.assert_allclose(whole.row_error, ((decoded - values) ** 2).sum(axis=1), rtol=1e-13)
    assert whole.max_abs == np.abs(decoded - values).max()


def test_sums_outlive_their_derivation() -> None:
    words = np.full((4, 64), 0x3F81, np.uint16)
    sums = derive_grouped(words, "BF16", 4, encode_grouped(words, "BF16", 4), statistics=True).row_signal
    np.testing.assert_array_equal(sums, np.full(4, 64 * (1 + 1 / 128) ** 2))
    assert not sums.flags.writeable
