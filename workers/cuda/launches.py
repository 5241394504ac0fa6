"""How each kernel is launched: its name, how many blocks of how many threads, its arguments. Pure: the same launch runs
on a device and, in the tests, on the CPU.

Addresses are of device memory, at multiples of 16 bytes, and planes lie as in workers/_native.pyi. `first_refused` is
the address of a 64-bit word that is all ones before the launch. It stays so, or a group (row) was refused: the first
one's number times FINDINGS, and a `Finding`.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from schemas.storage_layouts import K_ALIGNMENT
from workers.cuda.sources import fp8_row_kernel, grouped_kernel

THREADS = 256
OCTET = 8
FINDINGS = 4
NOTHING_REFUSED = (1 << 64) - 1
MAX_BLOCKS = (1 << 31) - 1
MAX_THREADS = 1 << 32

Argument: TypeAlias = "ctypes.c_void_p | ctypes.c_uint32"


class Finding(IntEnum):
    """Why a kernel refused a group or row."""

    NON_FINITE = 1
    SCALE_OVERFLOW = 2
    ROW_TOO_SMALL = 3


@dataclass(frozen=True, slots=True)
class Launch:
    """One run of a kernel: `blocks` of THREADS threads each, in one dimension."""

    kernel: str
    blocks: int
    arguments: tuple[Argument, ...]

    def __post_init__(self) -> None:
        if self.blocks > MAX_BLOCKS or self.blocks * THREADS > MAX_THREADS:
            raise ValueError(f"{self.kernel}: expected fewer than 2^32 threads, found {self.blocks} blocks of {THREADS}")


def grouped_launch(
    dtype: str, code_bits: int, rows: int, k: int, *, source: int, codes: int, high: int, scales: int, first_refused: int
) -> Launch:
    """Encodes [rows, k] words into the planes of a grouped format."""
    octets = rows * (-(-k // K_ALIGNMENT) * K_ALIGNMENT // OCTET)
    arguments = (_at(source), _count(rows), _count(k), _at(codes), _at(high), _at(scales), _at(first_refused))
    return Launch(grouped_kernel(code_bits, dtype), _blocks(octets), arguments)


def fp8_row_launch(
    dtype: str, rows: int, k: int, *, source: int, codes: int, scales: int, first_refused: int
) -> Launch:
    """Encodes [rows, k] words into codes and multipliers of row-scaled FP8."""
    arguments = (_at(source), _count(k), _at(codes), _at(scales), _at(first_refused))
    return Launch(fp8_row_kernel(dtype), rows, arguments)


def swizzle_launch(rows: int, k: int, *, scales: int, out: int) -> Launch:
    """Puts natural [rows, k/16] NVFP4 scale words into swizzled order; rows is a multiple of 128, k of 64."""
    return Launch("swizzle_scales", _blocks(rows * k // 256), (_at(scales), _count(rows), _count(k), _at(out)))


def _blocks(threads: int) -> int:
    return -(-threads // THREADS)


def _at(address: int) -> ctypes.c_void_p:
    return ctypes.c_void_p(address)


def _count(value: int) -> ctypes.c_uint32:
    return ctypes.c_uint32(value)
