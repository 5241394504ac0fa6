"""The native verifier finds every changed bit at its place, and measures errors as they are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.conformance import native
from tests.conformance.blocks import FP8_ROW, SCHEMES, Block
from tests.conformance.table import FAMILIES, cases
from tests.conformance.words import DTYPES, ORDINARY_EXPONENTS, scattered_words
from tests.oracle import fp8_row, grouped
from tests.oracle.casts import FLOATS
from tests.oracle.storage_layouts import RowSplit, RowSplitPlanes, decode_row_split_planes
from tests.oracle.words import BINARY32, exact

pytestmark = pytest.mark.usefixtures("every_instruction_set")

FORMATS = (*SCHEMES, FP8_ROW)


def partial_block(format: str, dtype: str) -> Block:
    """Two rows that end in a partial group, and for most formats in a group wholly past K."""
    words = scattered_words(dtype, 2 * 139, 5, exponents=ORDINARY_EXPONENTS[dtype])
    return Block(f"{format} {dtype}: two rows of 139", format, dtype, 139, words)


def place_of(block: Block, plane: str, bit: int) -> tuple[int, int]:
    """Row and column of the element, or of the first element of the group or row, that a bit of a plane belongs to."""
    if block.format == FP8_ROW:
        return (bit // 16, 0) if plane == "scales" else divmod(bit // 8, block.k)
    shape = RowSplit(SCHEMES[block.format], block.n, block.k)
    bits = {"codes": 8 * shape.base, "high": 8 * shape.high, "scales": 16}[plane]
    lane_bits = {"codes": shape.scheme.code_bits - shape.high_bits, "high": shape.high_bits}
    row, within = divmod(bit, shape.groups * bits)
    group, within = divmod(within, bits)
    lane = 0 if plane == "scales" else within // lane_bits[plane]
    return row, group * shape.scheme.group + lane


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_changed_bit_is_found_at_its_place(format: str, dtype: str) -> None:
    block = partial_block(format, dtype)
    for plane in ("codes", "high", "scales"):
        for bit in range(8 * len(getattr(block.planes, plane))):
            derivation = native.derive(block, block.planes.flipped(plane, bit))
            mismatch, where = derivation.mismatch, f"bit {bit} of {plane}"
            assert mismatch is not None, where
            assert (mismatch.plane, mismatch.row, mismatch.column) == (plane, *place_of(block, plane, bit)), where
            assert (mismatch.expected ^ mismatch.found).bit_count() == 1, where
            assert derivation.fault is None


@pytest.mark.parametrize("format", FORMATS)
def test_the_first_of_several_mismatches_is_named(format: str) -> None:
    block = partial_block(format, "BF16")
    changed = block.planes
    for plane in ("scales", "codes"):
        changed = changed.flipped(plane, 8 * len(getattr(changed, plane)) - 1)
    changed = changed.flipped("codes", 9)
    mismatch = native.derive(block, changed).mismatch
    assert mismatch is not None
    assert (mismatch.plane, mismatch.row, mismatch.column) == ("codes", *place_of(block, "codes", 9))


def represented(block: Block) -> list[list[Fraction]]:
    """The weights that the oracle's planes represent, row by row."""
    planes = block.planes
    if block.format == FP8_ROW:
        rows = []
        for r in range(block.n):
            codes = tuple(planes.codes[r * block.k : (r + 1) * block.k])
            row = fp8_row.Row(int.from_bytes(planes.scales[2 * r : 2 * r + 2], "little"), codes)
            rows.append([exact(BINARY32, word) for word in fp8_row.reconstruct(row)])
        return rows
    shape = RowSplit(SCHEMES[block.format], block.n, block.k)
    groups = decode_row_split_planes(shape, RowSplitPlanes(planes.codes, planes.high, planes.scales))
    return [[exact(BINARY32, word) for group in row for word in grouped.reconstruct(group)] for row in groups]


STATISTICS = [
    family
    for family in FAMILIES
    if any(part in family for part in ("mixed magnitudes", "zeros", "clamped codes", "rescue", "BF16 codes"))
]


@pytest.mark.parametrize("family", STATISTICS)
def test_error_statistics_are_those_of_the_represented_weights(family: str) -> None:
    for block in cases(family):
        if block.refusal:
            continue
        source = [[exact(FLOATS[block.dtype], word) for word in row] for row in block.rows]
        errors = [
            [weight - value for weight, value in zip(*pair, strict=True)]
            for pair in zip(represented(block), source, strict=True)
        ]
        derivation = native.derive(block, block.planes, statistics=True)
        expected_error = [float(sum(error**2 for error in row)) for row in errors]
        expected_signal = [float(sum(value**2 for value in row)) for row in source]
        np.testing.assert_allclose(derivation.row_error, expected_error, rtol=1e-13, atol=0, err_msg=block.name)
        np.testing.assert_allclose(derivation.row_signal, expected_signal, rtol=1e-13, atol=0, err_msg=block.name)
        assert derivation.max_abs == max(float(abs(error)) for row in errors for error in row), block.name


@pytest.mark.parametrize("format", FORMATS)
def test_no_statistics_unless_asked_for_and_derived(format: str) -> None:
    block = partial_block(format, "BF16")
    wrong = block.planes.flipped("codes", 0)
    for derivation in (native.derive(block, block.planes), native.derive(block, wrong, statistics=True)):
        assert (derivation.max_abs, len(derivation.row_error), len(derivation.row_signal)) == (0.0, 0, 0)
