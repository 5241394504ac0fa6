"""Every golden vector and conformance case through the kernels' own source, every thread of grid and block run.

Expected are the published digests, and the planes and refusals of the native encoder, which tests/conformance holds to
the oracle on the same cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.conformance import native
from tests.conformance.blocks import FP8_ROW, SCHEMES, Block, Refusal
from tests.conformance.blocks import Planes as StoredPlanes
from tests.conformance.lone_words import LONE_WORDS
from tests.conformance.table import FAMILIES, cases
from tests.cuda import emulated
from tests.native.planes import GOLDEN_WORDS, GROUP, WORD, Planes, Words, groups_per_row
from tests.native.test_golden import CODE_BITS, check, name_of, payload, vectors
from workers.cuda.launches import Finding, WrongPlace

TURNS = pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
"""No result may depend on which thread comes first."""


@TURNS
@pytest.mark.parametrize("vector", vectors("grouped.json"), ids=name_of)
def test_golden_grouped(vector: dict[str, Any], backward: bool) -> None:
    dtype, code_bits = vector["source_dtype"], CODE_BITS[vector["format"]]
    words = GOLDEN_WORDS["source_words"](dtype, vector["kind"], vector["seed"], *vector["shape"])
    planes, wrong = emulated.encode_grouped(words, dtype, code_bits, backward=backward)
    assert wrong is None
    check(vector, payload(planes))
    assert emulated.compare_grouped(words, dtype, code_bits, planes) is None


@TURNS
@pytest.mark.parametrize("vector", vectors("fp8_row.json"), ids=name_of)
def test_golden_fp8_row(vector: dict[str, Any], backward: bool) -> None:
    dtype = vector["source_dtype"]
    words = GOLDEN_WORDS["source_words"](dtype, vector["kind"], vector["seed"], *vector["shape"])
    planes, wrong = emulated.encode_fp8_row(words, dtype, backward=backward)
    assert wrong is None
    check(vector, payload(planes))
    assert emulated.compare_fp8_row(words, dtype, planes) is None


@TURNS
@pytest.mark.parametrize(("rows", "k"), [(128, 64), (256, 320), (384, 64), (128, 1088)])
def test_swizzle(rows: int, k: int, backward: bool) -> None:
    natural = np.random.default_rng(rows + k).integers(0, 256, rows * k // 16, np.uint8)
    swizzled = emulated.swizzle_scales(natural, rows, k, backward=backward)
    for n in range(rows):
        for g in range(k // 16):
            at = ((n // 128) * (k // 64) + g // 4) * 512 + (n % 32) * 16 + ((n % 128) // 32) * 4 + g % 4
            assert swizzled[at] == natural[n * (k // 16) + g]


def words_of(block: Block) -> Words:
    words: Words = np.array(block.words, WORD[block.dtype])
    return words.reshape(block.n, block.k)


def encode(block: Block) -> tuple[Planes, WrongPlace | None]:
    if block.format == FP8_ROW:
        return emulated.encode_fp8_row(words_of(block), block.dtype)
    return emulated.encode_grouped(words_of(block), block.dtype, SCHEMES[block.format].code_bits)


def compare(block: Block, planes: Planes) -> WrongPlace | None:
    if block.format == FP8_ROW:
        return emulated.compare_fp8_row(words_of(block), block.dtype, planes)
    return emulated.compare_grouped(words_of(block), block.dtype, SCHEMES[block.format].code_bits, planes)


def number(block: Block, row: int, column: int) -> int:
    """The group, or the row in row-scaled FP8, that an element belongs to."""
    if block.format == FP8_ROW:
        return row
    code_bits = SCHEMES[block.format].code_bits
    return row * groups_per_row(code_bits, block.k) + column // GROUP[code_bits]


def check_block(block: Block) -> None:
    expected = native.encode(block)
    planes, wrong = encode(block)
    if isinstance(expected, Refusal):
        refused = WrongPlace(number(block, expected.row, expected.column), Finding.REFUSED)
        assert wrong == refused, block.name
        if refused.number == 0:
            assert compare(block, planes) == refused, block.name
        return
    assert wrong is None, block.name
    stored = StoredPlanes(planes.codes.tobytes(), planes.high.tobytes(), planes.scales.tobytes())
    assert stored == expected, block.name
    assert compare(block, planes) is None, block.name


@pytest.mark.parametrize("family", FAMILIES)
def test_conformance(family: str) -> None:
    for block in cases(family):
        check_block(block)


@pytest.mark.parametrize(("format", "dtype"), LONE_WORDS)
def test_every_16_bit_word_alone(format: str, dtype: str) -> None:
    faults = {word: fault for word, fault, _ in native.faults_alone(format, dtype, range(1 << 16))}
    accepted = tuple(word for word, fault in faults.items() if fault is None)
    refused = [word for word, fault in faults.items() if fault is not None]
    block = Block("accepted", format, dtype, 1, accepted)
    planes, wrong = encode(block)
    assert wrong is None
    assert StoredPlanes(planes.codes.tobytes(), planes.high.tobytes(), planes.scales.tobytes()) == native.encode(block)
    for word in refused[::63]:
        check_block(Block(f"{word:04X}", format, dtype, 1, (0, word)))


@pytest.mark.parametrize("format", [*SCHEMES, FP8_ROW])
@pytest.mark.parametrize("k", [1, 8, 63, 64, 129, 136, 2056, 4099])
def test_widths(format: str, k: int) -> None:
    """Rows that are whole octets and not, within and past what one block of threads takes at once."""
    words = np.random.default_rng(k).integers(0x3000, 0x4000, 3 * k)
    check_block(Block(f"{format} {k}", format, "BF16", k, tuple(int(word) for word in words)))


@pytest.mark.parametrize(("format", "rows", "k"), [*((format, 1, 67) for format in SCHEMES), (FP8_ROW, 2, 40)])
def test_the_comparison_finds_every_changed_bit(format: str, rows: int, k: int) -> None:
    words = np.random.default_rng(7).integers(0x3C00, 0x4000, rows * k)
    block = Block(format, format, "BF16", k, tuple(int(word) for word in words))
    planes, wrong = encode(block)
    assert wrong is None
    for plane in (planes.codes, planes.high, planes.scales):
        for bit in range(8 * plane.size):
            plane[bit // 8] ^= 1 << bit % 8
            stored = StoredPlanes(planes.codes.tobytes(), planes.high.tobytes(), planes.scales.tobytes())
            mismatch = native.derive(block, stored).mismatch
            assert mismatch is not None
            finding = Finding.WRONG_SCALE if mismatch.plane == "scales" else Finding.WRONG_CODE
            expected = WrongPlace(number(block, mismatch.row, mismatch.column), finding)
            assert compare(block, planes) == expected, (bit, expected)
            plane[bit // 8] ^= 1 << bit % 8
