"""The oracle against what the documents print: worked values, and arithmetic that they call wrong."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.conformance.blocks import FP8_ROW, SCHEMES, Block, Refusal
from tests.conformance.fp8_row_cases import FP8_RECIPROCAL_CODES
from tests.conformance.grouped_cases import DIVISION_SCALES, RECIPROCAL_CODES, smallest_failing_word
from tests.conformance.table import cases
from tests.conformance.words import word
from tests.oracle import fp8_row, grouped
from tests.oracle.casts import FLOATS
from tests.oracle.faults import Reason
from tests.oracle.grouped import Q4, Q5, Q6, W8, Group, Scheme
from tests.oracle.rounding import round_to_integral, round_to_value, round_to_word
from tests.oracle.storage_layouts import (
    RowSplit,
    decode_contiguous,
    decode_row_scale,
    decode_row_split,
    encode_contiguous,
    encode_row_scale,
    encode_row_split,
    scale_place,
)
from tests.oracle.words import BFLOAT16, BINARY16, BINARY32, E4M3FN, decode, exact

SCHEME = pytest.mark.parametrize("scheme", grouped.SCHEMES, ids=lambda scheme: scheme.name)


@pytest.mark.parametrize("block", DIVISION_SCALES, ids=lambda block: block.name)
def test_multiplying_by_one_over_qmax_gives_another_scale(block: Block) -> None:
    scheme = SCHEMES[block.format]
    amax = exact(FLOATS[block.dtype], block.words[0])
    inverse = grouped.round_f32(Fraction(1, scheme.qmax))
    wrong = round_to_word(BINARY16, grouped.round_f32(amax * inverse))
    right = grouped.encode_group(scheme, FLOATS[block.dtype], block.words).scale
    assert right == round_to_word(BINARY16, grouped.round_f32(amax / scheme.qmax))
    assert right != wrong


@pytest.mark.parametrize("block", RECIPROCAL_CODES, ids=lambda block: block.name)
def test_dividing_by_the_scale_gives_another_code(block: Block) -> None:
    scheme, source = SCHEMES[block.format], FLOATS[block.dtype]
    group = grouped.encode_group(scheme, source, block.words)
    quotient = grouped.round_f32(exact(source, block.words[1]) / exact(BINARY16, group.scale))
    assert group.codes[1] != round_to_integral(quotient)


@pytest.mark.parametrize("block", FP8_RECIPROCAL_CODES, ids=lambda block: block.name)
def test_dividing_by_the_row_scale_gives_another_code(block: Block) -> None:
    source = FLOATS[block.dtype]
    row = fp8_row.encode_row(source, block.words)
    quotient = round_to_value(BINARY32, exact(source, block.words[1]) / exact(BFLOAT16, row.scale))
    assert row.codes[1] != round_to_word(E4M3FN, quotient)


@SCHEME
def test_largest_scale_and_first_failure(scheme: Scheme) -> None:
    fails = smallest_failing_word(scheme, "F32")
    assert exact(BINARY32, fails) == 65520 * scheme.qmax
    assert grouped.encode_group(scheme, BINARY32, (fails - 1,)).scale == 0x7BFF
    refusal = Block("fails", scheme.name, "F32", 1, (fails,)).verdict
    assert refusal == Refusal(Reason.SCALE_OVERFLOW, 0, 0, fails)


@SCHEME
def test_rescue(scheme: Scheme) -> None:
    """Halfway to 2^-24 rounds to zero and is rescued; so is what binary32 itself rounds to zero."""
    halfway = word("F32", scheme.qmax * Fraction(1, 2**25))
    assert grouped.encode_group(scheme, BINARY32, (halfway,)) == Group(0x0001, (round(Fraction(scheme.qmax, 2)),))
    assert grouped.encode_group(scheme, BINARY32, (1, 0x80000001)) == Group(0x0001, (0, 0))


@SCHEME
def test_clamp_comes_after_rounding(scheme: Scheme) -> None:
    (block,) = cases(f"{scheme.name} F32 clamped codes")
    group = grouped.encode_group(scheme, BINARY32, block.words)
    assert {min(group.codes), max(group.codes)} == {scheme.qmin, scheme.qmax}
    assert group.codes[:2] == (scheme.qmax, scheme.qmin)


def test_all_zero_groups_have_one_representation() -> None:
    assert grouped.encode_group(Q4, BFLOAT16, (0x0000, 0x8000)) == Group(0x0000, (0, 0))
    assert fp8_row.encode_row(BFLOAT16, (0x8000, 0x0000)) == fp8_row.Row(0x0000, (0x00, 0x00))


@SCHEME
def test_a_partial_group_decodes_to_what_it_was_made_from(scheme: Scheme) -> None:
    """Canonical quantization, storage and exact decode of a partly filled group."""
    k = scheme.group + 3
    words = tuple(word("BF16", Fraction(j % 7 - 3, 4)) for j in range(k))
    row = [grouped.encode_group(scheme, BFLOAT16, group) for group in grouped.groups_of(scheme, words)]
    assert [len(group.codes) for group in row] == [scheme.group, 3]
    shape = RowSplit(scheme, 1, k)
    decoded = decode_row_split(shape, encode_row_split(shape, [row]))
    assert decoded == [row]
    for group, source in zip(decoded[0], grouped.groups_of(scheme, words), strict=True):
        scale = exact(BINARY16, group.scale)
        for stored, original in zip(grouped.reconstruct(group), source, strict=True):
            assert abs(exact(BINARY32, stored) - exact(BFLOAT16, original)) <= scale * Fraction(51, 100)


def test_reconstruction_rounds_the_product_once() -> None:
    group = Group(0x3555, (-127, 0, 3))
    s32 = exact(BINARY16, 0x3555)
    assert [exact(BINARY32, w_hat) for w_hat in grouped.reconstruct(group)] == [-127 * s32, 0, 3 * s32]
    # 2^-133 * 2^-9 * 15 lies between two binary32 subnormals
    row = fp8_row.Row(0x0001, (0x01, 0x81, 0x0F, 0x80))
    assert fp8_row.reconstruct(row) == (0x00000080, 0x80000080, 0x00000780, 0x80000000)
    assert fp8_row.reconstruct(fp8_row.Row(0x7F7F, (0x7E,))) == (0x7F800000,)


def test_validity_of_groups_and_rows() -> None:
    assert grouped.group_is_valid(W8, Group(0x0001, (-127, 127)))
    assert not grouped.group_is_valid(W8, Group(0x0001, (-128,)))
    assert grouped.group_is_valid(Q4, Group(0x3C00, (0, 0)))
    assert not grouped.group_is_valid(Q4, Group(0x0000, (0, 1)))
    assert [grouped.scale_is_valid(scale) for scale in (0, 1, 0x7BFF, 0x7C00, 0x7E00, 0x8000, 0xBC00)] == [True] * 3 + [
        False
    ] * 4
    assert fp8_row.row_is_valid(fp8_row.Row(0x0000, (0x00, 0x80)))
    assert not fp8_row.row_is_valid(fp8_row.Row(0x0000, (0x01,)))
    assert not fp8_row.row_is_valid(fp8_row.Row(0x3F80, (0x7F,)))
    assert not fp8_row.row_is_valid(fp8_row.Row(0x8000, (0x00,)))


def test_row_fp8_fails_below_scale_0021() -> None:
    refusals = [block.refusal for block in cases(f"{FP8_ROW} BF16 small rows")]
    assert [refusal and (refusal.reason, refusal.word) for refusal in refusals] == [
        None,
        (Reason.ROW_TOO_SMALL, 0x0020),
        (Reason.ROW_TOO_SMALL, 0x0001),
    ]


@pytest.mark.parametrize(("scheme", "lane_bits"), [(Q5, 1), (Q6, 2)], ids=["Q5", "Q6"])
def test_high_plane_is_a_stream_of_lanes_low_bit_first(scheme: Scheme, lane_bits: int) -> None:
    shape = RowSplit(scheme, 1, 128)
    for lane in range(64):
        for bit in range(lane_bits):
            u = 1 << (4 + bit)
            code = u - (1 << scheme.code_bits) if u >> (scheme.code_bits - 1) else u
            codes = [0] * 64
            codes[lane] = code
            payload = encode_row_split(shape, [[Group(1, tuple(codes)), Group(1, (0,) * 64)]])
            stream = int.from_bytes(payload[shape.high_offset : shape.high_offset + shape.high], "little")
            assert stream == 1 << (lane * lane_bits + bit)
            assert not any(payload[: shape.base])


def test_base_plane_holds_low_nibbles_lane_pairs_low_half_first() -> None:
    payload = encode_row_split(RowSplit(Q4, 1, 3), [[Group(0x3C00, (-1, 2, -8))]])
    assert payload[:2] == bytes([0x2F, 0x08])
    assert encode_row_split(RowSplit(W8, 1, 2), [[Group(0x3C00, (-127, 5))]])[:2] == bytes([0x81, 0x05])


def test_published_places_of_nvfp4_scales() -> None:
    assert scale_place(64, 31, 0) == 496
    assert scale_place(64, 32, 0) == 4
    for n, k in ((128, 64), (256, 320)):
        places = sorted(scale_place(k, row, group) for row in range(n) for group in range(k // 16))
        assert places == list(range(n * k // 16))


@SCHEME
def test_decoding_refuses_set_bits_outside_of_words(scheme: Scheme) -> None:
    """Every bit of a payload is either part of a word that decoding gives, or refused when set."""
    shape = RowSplit(scheme, 1, 65)
    row = [Group(0x3C00, (1,) * len(group)) for group in grouped.groups_of(scheme, [0] * 65)]
    payload = encode_row_split(shape, [row])
    words = 0
    for bit in range(8 * len(payload)):
        changed = bytearray(payload)
        changed[bit // 8] ^= 1 << (bit % 8)
        try:
            assert decode_row_split(shape, bytes(changed)) != [row], bit
            words += 1
        except ValueError:
            continue
    assert words == 65 * scheme.code_bits + 16 * len(row)
    with pytest.raises(ValueError, match="bytes"):
        decode_row_split(shape, payload + b"\0")


def test_decoding_of_row_scale_refuses_set_bits_in_the_gap() -> None:
    payload = encode_row_scale([[1, 2, 3]], [0x3F80])
    assert decode_row_scale(1, 3, payload) == ([[1, 2, 3]], [0x3F80])
    with pytest.raises(ValueError, match="gap"):
        decode_row_scale(1, 3, payload[:3] + b"\1" + payload[4:])


@pytest.mark.parametrize(
    ("format", "words", "payload"),
    [
        # signed zeros, least subnormal, infinity, signaling and quiet NaN with payloads
        ("BF16", [0x0000, 0x8000, 0x0001, 0xFF80, 0x7F81, 0xFFC5], "00000080010080ff817fc5ff"),
        ("FP32", [0x80000000, 0x00000001, 0x7F800001, 0xFFC12345], "00000080010000000100807f4523c1ff"),
        ("I32", [0x7FFFFFFF, 0x80000000, 0xFFFFFFFF], "ffffff7f00000080ffffffff"),
    ],
)
def test_direct_words_round_trip(format: str, words: list[int], payload: str) -> None:
    assert encode_contiguous(format, words).hex() == payload
    assert decode_contiguous(format, bytes.fromhex(payload)) == words
    with pytest.raises(ValueError, match="whole number"):
        decode_contiguous(format, bytes.fromhex(payload)[:-1])


def test_classes_of_binary16_words() -> None:
    """Section 6: every word has one."""
    kinds = [decode(BINARY16, each).kind.value for each in range(1 << 16)]
    counts = {kind: kinds.count(kind) for kind in sorted(set(kinds))}
    assert counts == {"NaN": 2046, "infinity": 2, "normal": 61440, "subnormal": 2046, "zero": 2}
