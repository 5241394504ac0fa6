"""Blocks of source words, and the planes that the native encoders make of them."""

from __future__ import annotations

import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from workers import _native

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.unsignedinteger[Any]]

CODE_BITS = (4, 5, 6, 8)
DTYPES = ("BF16", "F16", "F32")
GROUP = {4: 64, 5: 64, 6: 64, 8: 32}
HIGH_BYTES = {4: 0, 5: 8, 6: 16, 8: 0}
EXPONENT_BITS = {"BF16": 8, "F16": 5, "F32": 8}
FRACTION_BITS = {"BF16": 7, "F16": 10, "F32": 23}
WORD: dict[str, type[np.uint16] | type[np.uint32]] = {"BF16": np.uint16, "F16": np.uint16, "F32": np.uint32}

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
GOLDEN_WORDS = runpy.run_path(str(GOLDEN / "source_words.py"))

UNWRITTEN = 0xA5
"""What output buffers hold before a kernel fills them."""


@dataclass(frozen=True)
class Planes:
    """The stored planes of a block; `high` is empty where the format has none."""

    codes: Bytes
    high: Bytes
    scales: Bytes


def as_bytes(words: npt.NDArray[Any]) -> Bytes:
    """The bytes of an array, flat, without a copy."""
    return np.ascontiguousarray(words).reshape(-1).view(np.uint8)


def groups_per_row(code_bits: int, k: int) -> int:
    return -(-k // 128) * 128 // GROUP[code_bits]


def blank_grouped(code_bits: int, rows: int, k: int) -> Planes:
    """Planes that nothing has been written to."""
    groups = rows * groups_per_row(code_bits, k)
    sizes = (groups * 32, groups * HIGH_BYTES[code_bits], groups * 2)
    codes, high, scales = (np.full(size, UNWRITTEN, np.uint8) for size in sizes)
    return Planes(codes, high, scales)


def try_grouped(words: Words, dtype: str, code_bits: int) -> tuple[Planes, _native.Fault | None]:
    """Encodes [rows, k] words."""
    rows, k = words.shape
    planes = blank_grouped(code_bits, rows, k)
    fault = _native.encode_grouped(as_bytes(words), dtype, code_bits, k, planes.codes, planes.high, planes.scales)
    return planes, fault


def encode_grouped(words: Words, dtype: str, code_bits: int) -> Planes:
    planes, fault = try_grouped(words, dtype, code_bits)
    assert fault is None, fault
    return planes


def derive_grouped(
    words: Words, dtype: str, code_bits: int, planes: Planes, *, statistics: bool = False
) -> _native.Derivation:
    source, k = as_bytes(words), words.shape[1]
    return _native.derive_grouped(
        source, dtype, code_bits, k, planes.codes, planes.high, planes.scales, statistics=statistics
    )


def try_fp8(words: Words, dtype: str) -> tuple[Planes, _native.Fault | None]:
    """Encodes [rows, k] words."""
    rows, k = words.shape
    codes, scales = np.full(rows * k, UNWRITTEN, np.uint8), np.full(2 * rows, UNWRITTEN, np.uint8)
    fault = _native.encode_fp8_row(as_bytes(words), dtype, k, codes, scales)
    return Planes(codes, np.empty(0, np.uint8), scales), fault


def encode_fp8(words: Words, dtype: str) -> Planes:
    planes, fault = try_fp8(words, dtype)
    assert fault is None, fault
    return planes


def derive_fp8(words: Words, dtype: str, planes: Planes, *, statistics: bool = False) -> _native.Derivation:
    return _native.derive_fp8_row(
        as_bytes(words), dtype, words.shape[1], planes.codes, planes.scales, statistics=statistics
    )


def float_words(rng: np.random.Generator, dtype: str, shape: tuple[int, int], exponents: tuple[int, int]) -> Words:
    """Words of either sign with any fraction and a biased exponent from a half-open range; at 0 they are subnormal."""
    fraction_bits = FRACTION_BITS[dtype]
    fraction = rng.integers(0, 1 << fraction_bits, shape, dtype=np.uint32)
    exponent = rng.integers(*exponents, shape, dtype=np.uint32)
    sign = rng.integers(0, 2, shape, dtype=np.uint32)
    words = sign << np.uint32(fraction_bits + EXPONENT_BITS[dtype])
    return (words | exponent << np.uint32(fraction_bits) | fraction).astype(WORD[dtype])


def place(fault: _native.Fault | None) -> tuple[str, int, int, int] | None:
    """A fault's fields."""
    return (fault.kind, fault.row, fault.column, fault.word) if fault else None


def difference(mismatch: _native.Mismatch | None) -> tuple[str, int, int, int, int] | None:
    """A mismatch's fields."""
    if mismatch is None:
        return None
    return mismatch.plane, mismatch.row, mismatch.column, mismatch.expected, mismatch.found
