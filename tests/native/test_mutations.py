"""One changed bit anywhere in the stored planes of many rows is found, at its element."""

from __future__ import annotations

import numpy as np
import pytest

from tests.native.planes import (
    CODE_BITS,
    DTYPES,
    GROUP,
    HIGH_BYTES,
    Planes,
    derive_fp8,
    derive_grouped,
    encode_fp8,
    encode_grouped,
    float_words,
    groups_per_row,
)

pytestmark = pytest.mark.usefixtures("every_instruction_set")

ROWS, K = 40, 300
MUTATIONS = 500


def flipped(planes: Planes, plane: str, bit: int) -> Planes:
    """A copy with one bit of one plane changed."""
    copies = {name: getattr(planes, name).copy() for name in ("codes", "high", "scales")}
    copies[plane][bit // 8] ^= np.uint8(1 << bit % 8)
    return Planes(**copies)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("code_bits", CODE_BITS)
def test_grouped_planes(dtype: str, code_bits: int) -> None:
    rng = np.random.default_rng(code_bits)
    words = float_words(rng, dtype, (ROWS, K), (8, 15) if dtype == "F16" else (112, 124))
    planes = encode_grouped(words, dtype, code_bits)
    lanes = groups_per_row(code_bits, K) * GROUP[code_bits]
    low = 8 if code_bits == 8 else 4
    bits_an_element = {"codes": low, "high": code_bits - low, "scales": None}
    for plane, width in bits_an_element.items():
        bits = 8 * len(getattr(planes, plane))
        for bit in rng.integers(0, bits, MUTATIONS if bits else 0).tolist():
            mismatch = derive_grouped(words, dtype, code_bits, flipped(planes, plane, bit), statistics=True).mismatch
            assert mismatch is not None
            element = bit // width if width else bit // 16 * GROUP[code_bits]
            assert (mismatch.plane, mismatch.row, mismatch.column) == (plane, *divmod(element, lanes))
            within = bit % (width or 16)
            assert mismatch.expected ^ mismatch.found == 1 << within
    assert bool(HIGH_BYTES[code_bits]) == bool(len(planes.high))


@pytest.mark.parametrize("dtype", DTYPES)
def test_fp8_planes(dtype: str) -> None:
    rng = np.random.default_rng(1)
    words = float_words(rng, dtype, (ROWS, K), (8, 15) if dtype == "F16" else (112, 124))
    planes = encode_fp8(words, dtype)
    for plane, width, elements in (("codes", 8, K), ("scales", 16, 1)):
        for bit in rng.integers(0, 8 * len(getattr(planes, plane)), MUTATIONS).tolist():
            mismatch = derive_fp8(words, dtype, flipped(planes, plane, bit), statistics=True).mismatch
            assert mismatch is not None
            assert (mismatch.plane, mismatch.row, mismatch.column) == (plane, *divmod(bit // width, elements))
            assert mismatch.expected ^ mismatch.found == 1 << bit % width
