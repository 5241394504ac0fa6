"""Copied words: the swizzle of NVFP4 scales, and comparison with what a source says."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from tests.native.planes import as_bytes, difference
from workers import _native


def offset(n: int, g: int, k: int) -> int:
    """The formula of storage-layouts.md."""
    return ((n // 128) * (k // 64) + g // 4) * 512 + (n % 32) * 16 + ((n % 128) // 32) * 4 + g % 4


@pytest.mark.parametrize(("n", "k"), [(128, 64), (256, 320), (384, 1024)])
def test_swizzled_scales_lie_where_the_layout_says(n: int, k: int) -> None:
    natural = np.random.default_rng(n).integers(0, 256, (n, k // 16), dtype=np.uint8)
    stored = np.empty(natural.size, np.uint8)
    _native.swizzle_scales(as_bytes(natural), k, stored)
    offsets = [offset(row, g, k) for row in range(n) for g in range(k // 16)]
    assert sorted(offsets) == list(range(natural.size))
    assert stored[offsets].tobytes() == natural.tobytes()
    assert _native.compare_swizzled(as_bytes(natural), k, stored) is None


def test_each_changed_scale_is_found_where_it_belongs() -> None:
    n, k = 256, 128
    natural = np.arange(n * k // 16).astype(np.uint8).reshape(n, k // 16)
    stored = np.empty(natural.size, np.uint8)
    _native.swizzle_scales(as_bytes(natural), k, stored)
    for row in range(n):
        for g in range(k // 16):
            wrong = stored.copy()
            wrong[offset(row, g, k)] ^= 0x10
            found = difference(_native.compare_swizzled(as_bytes(natural), k, wrong))
            assert found == ("scales", row, g * 16, natural[row, g], natural[row, g] ^ 0x10)


def test_the_first_wrong_scale_is_the_first_in_natural_order() -> None:
    natural = np.zeros((128, 8), np.uint8)
    stored = np.zeros(natural.size, np.uint8)
    stored[offset(32, 0, 128)] = 1
    stored[offset(1, 7, 128)] = 2
    assert offset(32, 0, 128) < offset(1, 7, 128)
    assert difference(_native.compare_swizzled(as_bytes(natural), 128, stored)) == ("scales", 1, 112, 0, 2)


@pytest.mark.parametrize("word", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_compared_words(word: type[np.unsignedinteger[npt.NBitBase]]) -> None:
    width = np.dtype(word).itemsize
    rng = np.random.default_rng(width)
    expected = rng.integers(0, np.iinfo(word).max, (7, 5), dtype=word)
    assert _native.compare_words(as_bytes(expected), as_bytes(expected).copy(), width, 5) is None
    for row in range(7):
        for column in range(5):
            for byte in range(width):
                found = expected.copy()
                found[row, column] ^= word(0x81 << 8 * byte)
                found[6, 4] ^= word(1)
                mismatch = difference(_native.compare_words(as_bytes(expected), as_bytes(found), width, 5))
                if (row, column) != (6, 4):
                    pair = int(expected[row, column]), int(found[row, column])
                    assert mismatch == ("words", row, column, *pair)
