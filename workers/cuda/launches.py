"""How each kernel is launched: its name, how many blocks of how many threads, its arguments. Pure: the same launch runs
on a device and, in the tests, on the CPU.

Addresses are of device memory, at multiples of 16 bytes, and planes lie as in workers/_native.pyi. `first` is the
address of a 64-bit word that holds NOTHING_WRONG before the launch. After it `wrong_place` says which group, of all
physical groups in row-major order, or which row is the first that something is wrong with.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from schemas.storage_layouts import K_ALIGNMENT
from workers.cuda.sources import Work, fp8_row_kernel, grouped_kernel

MAX_BLOCK_THREADS = 256
WARP = 32
OCTET = 8
FINDINGS = 4
NOTHING_WRONG = (1 << 64) - 1
MAX_BLOCKS = (1 << 31) - 1
MAX_THREADS = 1 << 32

Argument: TypeAlias = "ctypes.c_void_p | ctypes.c_uint32"


class Finding(IntEnum):
    """What is wrong with a group or row: its source words, which an encoder refuses, or one of its stored words."""

    REFUSED = 1
    WRONG_SCALE = 2
    WRONG_CODE = 3


@dataclass(frozen=True, slots=True)
class WrongPlace:
    """The number of a group or row, and what is wrong with it."""

    number: int
    finding: Finding


def wrong_place(first: int) -> WrongPlace | None:
    """What a kernel left in its word `first`, if anything."""
    return None if first == NOTHING_WRONG else WrongPlace(first // FINDINGS, Finding(first % FINDINGS))


@dataclass(frozen=True, slots=True)
class Launch:
    """One run of a kernel: `blocks` blocks of `threads` threads, in one dimension."""

    kernel: str
    blocks: int
    threads: int
    arguments: tuple[Argument, ...]

    def __post_init__(self) -> None:
        if self.blocks > MAX_BLOCKS or self.blocks * self.threads > MAX_THREADS:
            raise ValueError(
                f"{self.kernel}: expected 2^32 threads at most, found {self.blocks} blocks of {self.threads}"
            )


@dataclass(frozen=True, slots=True)
class Planes:
    """Addresses of the planes of a block of rows. Formats without high bits leave `high` at zero."""

    codes: int
    high: int
    scales: int


def grouped_launch(
    work: Work, dtype: str, code_bits: int, rows: int, k: int, *, source: int, planes: Planes, first: int
) -> Launch:
    """Encodes [rows, k] words into the planes of a grouped format, or compares planes with what the words give."""
    octets = rows * (-(-k // K_ALIGNMENT) * K_ALIGNMENT // OCTET)
    addresses = (_at(planes.codes), _at(planes.high), _at(planes.scales), _at(first))
    arguments = (_at(source), _count(rows), _count(k), *addresses)
    return _one_thread_each(grouped_kernel(work, code_bits, dtype), octets, arguments)


def fp8_row_launch(work: Work, dtype: str, rows: int, k: int, *, source: int, planes: Planes, first: int) -> Launch:
    """Encodes [rows, k] words into codes and multipliers of row-scaled FP8, or compares those with the words."""
    threads = min(-(-k // (WARP * OCTET)) * WARP, MAX_BLOCK_THREADS)
    addresses = (_at(planes.codes), _at(planes.scales), _at(first))
    return Launch(fp8_row_kernel(work, dtype), rows, threads, (_at(source), _count(k), *addresses))


def swizzle_launch(rows: int, k: int, *, scales: int, out: int) -> Launch:
    """Puts natural [rows, k/16] NVFP4 scale words into swizzled order; rows is a multiple of 128, k of 64."""
    arguments = (_at(scales), _count(rows), _count(k), _at(out))
    return _one_thread_each("swizzle_scales", rows * (k // 16) // 16, arguments)


def _one_thread_each(kernel: str, pieces: int, arguments: tuple[Argument, ...]) -> Launch:
    return Launch(kernel, -(-pieces // MAX_BLOCK_THREADS), MAX_BLOCK_THREADS, arguments)


def _at(address: int) -> ctypes.c_void_p:
    return ctypes.c_void_p(address)


def _count(value: int) -> ctypes.c_uint32:
    return ctypes.c_uint32(value)
