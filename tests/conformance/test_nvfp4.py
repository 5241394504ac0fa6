"""NVFP4: the order of its scale words, and which of them are legal."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from tests.conformance import native
from tests.conformance.golden import stream, vectors
from tests.oracle import nvfp4
from tests.oracle.storage_layouts import (
    BlockScaled,
    decode_block_scale,
    decode_row_scale,
    encode_block_scale,
    encode_row_scale,
    scale_place,
)
from tests.oracle.words import E4M3FN, Kind, decode
from workers import _native

SHAPES = [(128, 64), (128, 128), (256, 64), (384, 320)]


def distinct_scales(n: int, k: int) -> native.Bytes:
    """Natural scale words in which no two neighbours are alike."""
    return (np.arange(n * k // 16, dtype=np.int64) * 37 % 251 % 127).astype(np.uint8)


def swizzled(natural: native.Bytes, n: int, k: int) -> native.Bytes:
    """The oracle's order."""
    placed = np.zeros_like(natural)
    for row in range(n):
        for group in range(k // 16):
            placed[scale_place(k, row, group)] = natural[row * (k // 16) + group]
    return placed


@pytest.mark.parametrize(("n", "k"), SHAPES)
def test_swizzle_is_the_oracles(n: int, k: int) -> None:
    natural = distinct_scales(n, k)
    out = np.full(len(natural), native.UNWRITTEN, np.uint8)
    _native.swizzle_scales(natural, k, out)
    assert out.tobytes() == swizzled(natural, n, k).tobytes()
    assert _native.compare_swizzled(natural, k, out) is None


@pytest.mark.parametrize(("n", "k"), SHAPES)
def test_each_misplaced_scale_is_found(n: int, k: int) -> None:
    natural, groups = distinct_scales(n, k), k // 16
    right = swizzled(natural, n, k)
    for place in range(0, n * groups, 13):
        row, group = divmod(place, groups)
        stored = right.copy()
        stored[scale_place(k, row, group)] ^= 1 << (place % 8)
        found = _native.compare_swizzled(natural, k, stored)
        assert found is not None
        expected = int(natural[place])
        where = (found.plane, found.row, found.column, found.expected, found.found)
        assert where == ("scales", row, group * nvfp4.GROUP, expected, expected ^ 1 << (place % 8))


@pytest.mark.parametrize("word", range(256))
def test_legal_scales_are_the_oracles(word: int) -> None:
    n, k, row, group = 128, 128, 97, 5
    natural = distinct_scales(n, k)
    natural[row * (k // 16) + group] = word
    value = decode(E4M3FN, word)
    kind = "nan-scale" if value.kind is Kind.NAN else "negative-zero-scale" if word == 0x80 else "negative-scale"
    for order, scales in ((False, natural), (True, swizzled(natural, n, k))):
        fault = _native.legal_nvfp4_scales(scales, k, order)
        if nvfp4.scale_is_valid(word):
            assert fault is None
        else:
            assert fault is not None
            assert (fault.kind, fault.row, fault.column, fault.word) == (kind, row, group * nvfp4.GROUP, word)


def test_golden_scaled_float_payloads() -> None:
    """Layouts of already quantized words: the README of the vectors says how words are made."""
    for vector in vectors("scaled_float.json"):
        n, k = vector["shape"]
        payload = nvfp4_payload(vector, n, k) if vector["format"] == "NVFP4" else fp8_payload(vector, n, k)
        assert len(payload) == vector["payload_bytes"], vector
        assert hashlib.sha256(payload).hexdigest() == vector["payload_sha256"], vector


def nvfp4_payload(vector: dict[str, object], n: int, k: int) -> bytes:
    seed = int(str(vector["seed"]))
    packed = stream(seed, n * k // 2)
    scales = bytes(byte & 0x7F if byte & 0x7F != 0x7F else 0x7E for byte in stream(seed + 1, n * k // 16))
    nibbles = [nibble for byte in packed for nibble in (byte & 0xF, byte >> 4)]
    matrix = BlockScaled(
        codes=tuple(tuple(nibbles[r * k : (r + 1) * k]) for r in range(n)),
        scales=tuple(tuple(scales[r * k // 16 : (r + 1) * k // 16]) for r in range(n)),
        divisor=int(str(vector["divisor_word"]), 16),
    )
    payload = encode_block_scale(matrix)
    assert decode_block_scale(n, k, payload) == matrix
    assert nvfp4.divisor_is_valid(matrix.divisor)
    assert all(nvfp4.scale_is_valid(word) for row in matrix.scales for word in row)
    return payload


def fp8_payload(vector: dict[str, object], n: int, k: int) -> bytes:
    seed = int(str(vector["seed"]))
    codes = [byte ^ 1 if byte & 0x7F == 0x7F else byte for byte in stream(seed, n * k)]
    words = stream(seed + 1, 2 * n)
    scales = [int.from_bytes(words[2 * r : 2 * r + 2], "little") & 0x7FFF for r in range(n)]
    scales = [scale & 0x3FFF if scale >= 0x7F80 else scale for scale in scales]
    rows = [
        [code & (0x80 if scale == 0 else 0xFF) for code in codes[r * k : (r + 1) * k]] for r, scale in enumerate(scales)
    ]
    payload = encode_row_scale(rows, scales)
    assert decode_row_scale(n, k, payload) == (rows, scales)
    return payload
