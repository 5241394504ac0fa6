"""Histograms of planes: each count is what the oracle's reading of the words gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest

from tests.conformance.blocks import FP8_ROW, SCHEMES, Block
from tests.conformance.golden import golden_block, vectors
from tests.conformance.native import array
from tests.conformance.table import FAMILIES, cases
from tests.oracle.storage_layouts import RowSplit, RowSplitPlanes, decode_row_split_planes
from workers import _native

WITHIN_BIN = {"binary16": 7, "BF16": 4, "E4M3FN": 0}
"""Bits of a scale word that do not decide on its bin."""


def histogram(block: Block) -> _native.Histogram:
    planes = block.planes
    codes, high, scales = (array(data) for data in (planes.codes, planes.high, planes.scales))
    if block.format == FP8_ROW:
        return _native.histogram_fp8_row(block.k, codes, scales)
    return _native.histogram_grouped(SCHEMES[block.format].code_bits, block.k, codes, high, scales)


def counted_by_oracle(block: Block) -> tuple[Counter[int], Counter[int]]:
    """How often each code word and each scale word stands in the block."""
    planes = block.planes
    if block.format == FP8_ROW:
        words = np.frombuffer(planes.scales, "<u2")
        return Counter(planes.codes), Counter(words.tolist())
    scheme = SCHEMES[block.format]
    shape = RowSplit(scheme, block.n, block.k)
    rows = decode_row_split_planes(shape, RowSplitPlanes(planes.codes, planes.high, planes.scales))
    groups = [group for row in rows for group in row]
    codes = Counter(code % (1 << scheme.code_bits) for group in groups for code in group.codes)
    return codes, Counter(group.scale for group in groups)


def check(found: _native.Histogram, codes: Counter[int], scales: Counter[int], scale_format: str) -> None:
    assert dict(enumerate(found.codes.tolist())) == {word: codes[word] for word in range(found.codes.size)}
    assert found.zero_scales == scales.pop(0, 0)
    bins: Counter[int] = Counter()
    for word, count in scales.items():
        bins[word >> WITHIN_BIN[scale_format]] += count
    assert dict(enumerate(found.scales.tolist())) == {each: bins[each] for each in range(found.scales.size)}


def check_blocks(blocks: Iterable[Block]) -> None:
    seen = 0
    for block in blocks:
        if block.refusal is None:
            check(histogram(block), *counted_by_oracle(block), "BF16" if block.format == FP8_ROW else "binary16")
            seen += 1
    assert seen


@pytest.mark.parametrize("format", [*SCHEMES, FP8_ROW])
def test_conformance_cases(format: str) -> None:
    check_blocks(block for family in FAMILIES if format in family for block in cases(family)[:40])


@pytest.mark.parametrize("file", ["grouped.json", "fp8_row.json"])
def test_golden_vectors(file: str) -> None:
    check_blocks(golden_block(vector) for vector in vectors(file))


@pytest.mark.parametrize("k", [64, 192])
def test_nvfp4(k: int) -> None:
    random = np.random.default_rng(k)
    codes = random.integers(0, 256, 128 * k // 2, dtype=np.uint8)
    scales = random.integers(0, 0x7F, 128 * k // 16, dtype=np.uint8)
    nibbles = Counter(codes.tolist())
    expected: Counter[int] = Counter()
    for byte, count in nibbles.items():
        expected[byte & 15] += count
        expected[byte >> 4] += count
    found = _native.histogram_nvfp4(k, codes, scales)
    assert found.codes.size == 16
    check(found, expected, Counter(scales.tolist()), "E4M3FN")


@pytest.mark.parametrize("code_bits", [4, 5, 6, 8])
def test_more_words_than_counters_take_at_a_time(code_bits: int) -> None:
    """The counts of a plane of random groups and of long runs of one code, over several drains."""
    groups, lanes, high_bytes = (9 << 22) // 32, 32 if code_bits == 8 else 64, {5: 8, 6: 16}.get(code_bits, 0)
    random = np.random.default_rng(code_bits)
    codes = random.integers(0, 256, groups * 32, dtype=np.uint8)
    high = random.integers(0, 256, groups * high_bytes, dtype=np.uint8)
    codes[codes.size // 2 :] = 0x77
    high[high.size // 2 :] = 0
    scales = np.full(groups * 2, 1, np.uint8)
    if code_bits == 8:
        words = codes
    else:
        words = np.stack([codes & 15, codes >> 4], axis=1).reshape(-1)
        if high_bytes:
            width = code_bits - 4
            lifted = [(high >> (width * i) & ((1 << width) - 1)) << 4 for i in range(8 // width)]
            words |= np.stack(lifted, axis=1).reshape(-1)
    found = _native.histogram_grouped(code_bits, groups * lanes, codes, high, scales)
    np.testing.assert_array_equal(found.codes, np.bincount(words, minlength=1 << code_bits))
    assert found.scales[0x0101 >> 7] == groups
    assert found.scales.sum() == groups


def test_counts_outlive_their_histogram() -> None:
    counts = _native.histogram_fp8_row(4, np.full(4, 7, np.uint8), np.ones(2, np.uint8)).codes
    assert counts[7] == 4
    assert not counts.flags.writeable
