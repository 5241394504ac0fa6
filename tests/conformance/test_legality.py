"""The native checks of stored words agree with the oracle's rules of validity (numeric-formats.md 3.4, 5 and 6)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conformance import native
from tests.conformance.blocks import FP8_ROW, SCHEMES, Block, grouped_planes
from tests.conformance.table import FAMILIES, cases
from tests.conformance.words import scattered_words
from tests.oracle import fp8_row, grouped
from tests.oracle.storage_layouts import RowSplit
from tests.oracle.words import BFLOAT16, BINARY16, E4M3FN, FloatFormat, Kind, decode, signed_integer
from workers import _native


def scale_fault(format: FloatFormat, word: int) -> str | None:
    """How the native module calls what is wrong with a scale word."""
    value = decode(format, word)
    if value.kind is Kind.NAN:
        return "nan-scale"
    if value.kind is Kind.INFINITY:
        return "infinite-scale"
    if value.negative:
        return "negative-zero-scale" if value.kind is Kind.ZERO else "negative-scale"
    return None


@pytest.mark.parametrize("scheme", grouped.SCHEMES, ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("code", [0, 1])
def test_every_grouped_scale_word(scheme: grouped.Scheme, code: int) -> None:
    planes = grouped_planes(RowSplit(scheme, 1, 1), [[grouped.Group(0, (code,))]])
    codes, high, scales = (native.array(data).copy() for data in (planes.codes, planes.high, planes.scales))
    for word in range(1 << 16):
        scales[:2] = (word & 0xFF, word >> 8)
        fault = _native.legal_grouped(scheme.code_bits, 1, codes, high, scales)
        valid = grouped.group_is_valid(scheme, grouped.Group(word, (code,)))
        assert (fault is None) == valid, f"{word:04X}"
        if fault:
            expected = scale_fault(BINARY16, word) or "code-under-zero-scale"
            assert (fault.kind, fault.row, fault.column) == (expected, 0, 0), f"{word:04X}"


@pytest.mark.parametrize("scheme", grouped.SCHEMES, ids=lambda scheme: scheme.name)
def test_every_grouped_code_word(scheme: grouped.Scheme) -> None:
    for u in range(1 << scheme.code_bits):
        code = signed_integer(scheme.code_bits, u)
        for scale in (0x0000, 0x0001, 0x3C00):
            rows = [[grouped.Group(0x3C00, (1, 0, 0))], [grouped.Group(scale, (0, 0, code))]]
            planes = grouped_planes(RowSplit(scheme, 2, 3), rows)
            fault = _native.legal_grouped(
                scheme.code_bits, 3, *(native.array(data) for data in (planes.codes, planes.high, planes.scales))
            )
            assert (fault is None) == grouped.group_is_valid(scheme, rows[1][0]), (u, scale)
            if fault:
                assert (fault.row, fault.column, fault.word) == (1, 2, u), (u, scale)
                allowed = {"code-out-of-range"} if scale else {"code-out-of-range", "code-under-zero-scale"}
                assert fault.kind in (allowed if u == 0x80 else {"code-under-zero-scale"}), (u, scale)


@pytest.mark.parametrize("scheme", grouped.SCHEMES, ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("k", [1, 31, 33, 64, 65, 127, 128, 130])
def test_every_padding_bit_is_zero(scheme: grouped.Scheme, k: int) -> None:
    shape = RowSplit(scheme, 2, k)
    rows = [
        [grouped.Group(0x3C00, (1,) * min(scheme.group, k - start)) for start in range(0, k, scheme.group)]
        for _ in range(2)
    ]
    planes = grouped_planes(shape, rows)
    block = Block("padding", scheme.name, "BF16", k, (0,) * (2 * k))
    assert native.legal(block, planes) is None
    lane_bits = {"codes": scheme.code_bits - shape.high_bits, "high": shape.high_bits}
    checked = 0
    for plane, width in lane_bits.items():
        data = getattr(planes, plane)
        for bit in range(8 * len(data)):
            row, column = divmod(bit // width, shape.groups * scheme.group)
            if column < k:
                continue
            fault = native.legal(block, planes.flipped(plane, bit))
            assert fault is not None, (plane, bit)
            assert (fault.kind, fault.row, fault.column) == ("nonzero-padding", row, column), (plane, bit)
            checked += 1
    assert checked == 2 * (shape.groups * scheme.group - k) * scheme.code_bits


@pytest.mark.parametrize("scheme", grouped.SCHEMES, ids=lambda scheme: scheme.name)
def test_scales_of_groups_past_k_are_zero(scheme: grouped.Scheme) -> None:
    block = Block("padding", scheme.name, "BF16", 1, (0, 0))
    groups = RowSplit(scheme, 2, 1).groups
    for row in range(2):
        for group in range(1, groups):
            for bit in range(16):
                planes = block.blank.flipped("scales", (row * groups + group) * 16 + bit)
                fault = native.legal(block, planes)
                assert fault is not None
                found = (fault.kind, fault.row, fault.column, fault.word)
                assert found == ("nonzero-padding", row, group * scheme.group, 1 << bit)


def test_every_fp8_scale_word() -> None:
    for code in (0x80, 0x01):
        codes, scales = np.array([code], np.uint8), np.zeros(2, np.uint8)
        for word in range(1 << 16):
            scales[:] = (word & 0xFF, word >> 8)
            fault = _native.legal_fp8_row(1, codes, scales)
            assert (fault is None) == fp8_row.row_is_valid(fp8_row.Row(word, (code,))), (code, word)
            if fault:
                expected = scale_fault(BFLOAT16, word) or "code-under-zero-scale"
                assert (fault.kind, fault.row, fault.column) == (expected, 0, 0), (code, word)


@pytest.mark.parametrize("code", range(256))
def test_every_fp8_code_word(code: int) -> None:
    for scale in (0x0000, 0x0001, 0x3F80):
        codes = np.array([0, 0x80, 0, 0, code, 0x80], np.uint8)
        scales = np.array([0x80, 0x3F, scale & 0xFF, scale >> 8], np.uint8)
        fault = _native.legal_fp8_row(3, codes, scales)
        assert (fault is None) == fp8_row.row_is_valid(fp8_row.Row(scale, (0, code, 0x80))), scale
        if fault:
            assert (fault.row, fault.column, fault.word) == (1, 1, code)
            is_nan = decode(E4M3FN, code).kind is Kind.NAN
            assert fault.kind in ({"nan-code", "code-under-zero-scale"} if is_nan else {"code-under-zero-scale"})
            assert fault.kind == "nan-code" or scale == 0


@pytest.mark.parametrize("family", [family for family in FAMILIES if "magnitudes" in family or "zeros" in family])
def test_what_encoders_write_is_legal(family: str) -> None:
    for block in cases(family):
        assert native.legal(block, block.planes) is None, block.name


@pytest.mark.parametrize("format", [*SCHEMES, FP8_ROW])
def test_the_first_illegal_word_is_named(format: str) -> None:
    """Scale before codes within a group or row, rows in order."""
    block = Block(f"{format} rows", format, "BF16", 40, scattered_words("BF16", 120, 3, exponents=range(120, 124)))
    planes = block.planes
    for row in (2, 1):
        sign = 8 * len(planes.scales) // 3 * row + 15
        planes = planes.flipped("scales", sign)
        fault = native.legal(block, planes)
        assert fault is not None
        assert (fault.kind, fault.row, fault.column) == ("negative-scale", row, 0)
