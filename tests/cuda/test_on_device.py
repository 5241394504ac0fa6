"""The kernels on a GPU: every golden vector and conformance case, and a billion random weights. `make gpu` runs these.

Without a GPU they fail and say so: a run that checks nothing is no run.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from schemas.errors import DeviceError
from tests.conformance import native
from tests.conformance.blocks import FP8_ROW, SCHEMES, Block, Refusal
from tests.conformance.table import FAMILIES, cases
from tests.native import planes
from tests.native.planes import CODE_BITS as ALL_CODE_BITS
from tests.native.planes import GOLDEN_WORDS, UNWRITTEN, WORD, Planes, Words, as_bytes, blank_grouped, place
from tests.native.test_golden import CODE_BITS, check, name_of, payload, vectors
from workers import _native
from workers.cuda.backend import device_encoders
from workers.cuda.encoders import DeviceEncoders

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(1800)]

BILLION = 1_000_000_000
ROWS, COLUMNS = 4096, 8192


@cache
def found() -> DeviceEncoders | str:
    try:
        return device_encoders()
    except DeviceError as error:
        return str(error)


@pytest.fixture
def encoders() -> DeviceEncoders:
    """Encoders on this machine's GPU."""
    device = found()
    if isinstance(device, str):
        pytest.fail(f"nothing was checked on a GPU: {device}")
    return device


def encode_grouped(
    encoders: DeviceEncoders, words: Words, dtype: str, code_bits: int
) -> tuple[Planes, _native.Fault | None]:
    made = blank_grouped(code_bits, *words.shape)
    fault = encoders.encode_grouped(
        as_bytes(words), dtype, code_bits, words.shape[1], made.codes, made.high, made.scales
    )
    return made, fault


def encode_fp8(encoders: DeviceEncoders, words: Words, dtype: str) -> tuple[Planes, _native.Fault | None]:
    codes, scales = np.full(words.size, UNWRITTEN, np.uint8), np.full(2 * words.shape[0], UNWRITTEN, np.uint8)
    fault = encoders.encode_fp8_row(as_bytes(words), dtype, words.shape[1], codes, scales)
    return Planes(codes, np.empty(0, np.uint8), scales), fault


@pytest.mark.parametrize("vector", vectors("grouped.json"), ids=name_of)
def test_golden_grouped(vector: dict[str, Any], encoders: DeviceEncoders) -> None:
    words = GOLDEN_WORDS["source_words"](vector["source_dtype"], vector["kind"], vector["seed"], *vector["shape"])
    made, fault = encode_grouped(encoders, words, vector["source_dtype"], CODE_BITS[vector["format"]])
    assert fault is None
    check(vector, payload(made))


@pytest.mark.parametrize("vector", vectors("fp8_row.json"), ids=name_of)
def test_golden_fp8_row(vector: dict[str, Any], encoders: DeviceEncoders) -> None:
    words = GOLDEN_WORDS["source_words"](vector["source_dtype"], vector["kind"], vector["seed"], *vector["shape"])
    made, fault = encode_fp8(encoders, words, vector["source_dtype"])
    assert fault is None
    check(vector, payload(made))


def encode(encoders: DeviceEncoders, block: Block) -> tuple[Planes, _native.Fault | None]:
    words: Words = np.array(block.words, WORD[block.dtype])
    words = words.reshape(block.n, block.k)
    if block.format == FP8_ROW:
        return encode_fp8(encoders, words, block.dtype)
    return encode_grouped(encoders, words, block.dtype, SCHEMES[block.format].code_bits)


@pytest.mark.parametrize("family", FAMILIES)
def test_conformance(family: str, encoders: DeviceEncoders) -> None:
    for block in cases(family):
        expected = native.encode(block)
        made, fault = encode(encoders, block)
        if isinstance(expected, Refusal):
            assert native.refusal(fault) == expected, block.name
        else:
            assert fault is None, block.name
            stored = (made.codes.tobytes(), made.high.tobytes(), made.scales.tobytes())
            assert stored == (expected.codes, expected.high, expected.scales), block.name


@pytest.mark.parametrize(("rows", "k"), [(128, 64), (5120, 17408)])
def test_swizzle(rows: int, k: int, encoders: DeviceEncoders) -> None:
    natural = np.random.default_rng(k).integers(0, 256, rows * k // 16, np.uint8)
    expected, made = np.empty_like(natural), np.empty_like(natural)
    _native.swizzle_scales(natural, k, expected)
    encoders.swizzle_scales(natural, k, made)
    assert np.array_equal(made, expected)


def random_words(rng: np.random.Generator, dtype: str) -> Words:
    """Words of either sign and any exponent below two, subnormals included."""
    top = {"BF16": 0x4000, "F16": 0x4000, "F32": 0x40000000}[dtype]
    words: Words = rng.integers(0, np.iinfo(WORD[dtype]).max, (ROWS, COLUMNS), WORD[dtype], endpoint=True)
    return words & WORD[dtype](np.iinfo(WORD[dtype]).max - top)


@pytest.mark.parametrize("dtype", ["BF16", "F16", "F32"])
def test_a_billion_random_weights(dtype: str, encoders: DeviceEncoders) -> None:
    """Each block goes through every format, so that each format sees a billion weights of each dtype."""
    rng = np.random.default_rng(20260)
    for _ in range(-(-BILLION // (ROWS * COLUMNS))):
        words = random_words(rng, dtype)
        for code_bits in ALL_CODE_BITS:
            made, fault = encode_grouped(encoders, words, dtype, code_bits)
            expected, refused = planes.try_grouped(words, dtype, code_bits)
            assert place(fault) == place(refused)
            assert refused is None
            assert np.array_equal(made.codes, expected.codes)
            assert np.array_equal(made.high, expected.high)
            assert np.array_equal(made.scales, expected.scales)
        made, fault = encode_fp8(encoders, words, dtype)
        expected, refused = planes.try_fp8(words, dtype)
        assert fault is None
        assert refused is None
        assert np.array_equal(made.codes, expected.codes)
        assert np.array_equal(made.scales, expected.scales)
