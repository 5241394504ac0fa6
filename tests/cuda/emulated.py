"""The kernels on the CPU: their own sources compiled by g++, launched as on a device, every thread run.

Each buffer ends where memory ends, so that reading or writing past it is a fault, and outputs begin unwritten.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tests.native.planes import UNWRITTEN, Bytes, Planes, Words, as_bytes, blank_grouped
from workers.cuda import launches
from workers.cuda.launches import NOTHING_WRONG, Launch, WrongPlace, wrong_place
from workers.cuda.sources import INCLUDE_FOLDERS, PROGRAMS, Program, Work

EMULATION = Path(__file__).parent / "emulation"
FLAGS = ("-std=c++17", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fPIC", "-shared")
FIBERS = "-U_FORTIFY_SOURCE"
"""Jumping between stacks, which fibers are made of, is what the fortified longjmp refuses."""


class EmulationError(Exception):
    """What a device would do with this kernel is undefined."""


class Library:
    """One CUDA source and the emulation, compiled for the CPU."""

    def __init__(self, source: Path, kernels: Sequence[str], folder: Path) -> None:
        program, library = folder / f"{source.stem}.cpp", folder / f"{source.stem}.so"
        lines = ['#include "cuda_on_host.h"', f'#include "{source}"', *(f"EMULATED({kernel})" for kernel in kernels)]
        program.write_text("\n".join(lines) + "\n", encoding="utf-8")
        includes = [f"-I{path}" for path in (EMULATION, *INCLUDE_FOLDERS)]
        scheduler = EMULATION / "scheduler.cpp"
        command = ["g++", *FLAGS, FIBERS, *includes, str(program), str(scheduler), "-o", str(library)]
        subprocess.run(command, check=True)
        self._library = ctypes.CDLL(str(library))

    def run(self, launch: Launch, *, backward: bool = False) -> None:
        """Runs every thread of the launch; warps and lanes take turns from the first on, or from the last."""
        function = getattr(self._library, f"emulated_{launch.kernel}")
        function.restype = ctypes.c_char_p
        function.argtypes = [ctypes.c_uint32, ctypes.c_uint32, ctypes.c_bool, ctypes.c_void_p]
        arguments = (ctypes.c_void_p * len(launch.arguments))(*(ctypes.addressof(one) for one in launch.arguments))
        error = function(launch.blocks, launch.threads, backward, ctypes.addressof(arguments))
        if error is not None:
            raise EmulationError(error.decode())


@cache
def _library(program: Program) -> Library:
    with TemporaryDirectory() as folder:
        return Library(program.path, program.kernels, Path(folder))


def run(launch: Launch, *, backward: bool = False) -> None:
    """Runs one of the product's kernels. Each program is compiled once in a process."""
    program = next(program for program in PROGRAMS if launch.kernel in program.kernels)
    _library(program).run(launch, backward=backward)


@contextmanager
def at_the_end_of_memory(data: Bytes) -> Iterator[Bytes]:
    """A copy of the data that begins at a multiple of 16 and ends, but for what that takes, at a page that nobody may
    touch."""
    length = -(-data.size // 16) * 16
    pages = -(-max(length, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
    whole = np.frombuffer(mmap.mmap(-1, pages + mmap.PAGESIZE), np.uint8)
    _forbid(whole.ctypes.data + pages)
    placed = whole[pages - length : pages - length + data.size]
    placed[:] = data
    yield placed


def _forbid(page: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE), 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def encode_grouped(
    words: Words, dtype: str, code_bits: int, *, backward: bool = False
) -> tuple[Planes, WrongPlace | None]:
    """Planes of [rows, k] words, undefined where a group is refused."""
    blank = blank_grouped(code_bits, *words.shape)
    return _on_grouped("encode", words, dtype, code_bits, blank, backward=backward)


def compare_grouped(words: Words, dtype: str, code_bits: int, stored: Planes) -> WrongPlace | None:
    """The first group whose stored words are not those that [rows, k] words give."""
    return _on_grouped("compare", words, dtype, code_bits, stored)[1]


def encode_fp8_row(words: Words, dtype: str, *, backward: bool = False) -> tuple[Planes, WrongPlace | None]:
    """Planes of [rows, k] words, undefined where a row is refused."""
    codes, scales = np.full(words.size, UNWRITTEN, np.uint8), np.full(2 * words.shape[0], UNWRITTEN, np.uint8)
    return _on_fp8_row("encode", words, dtype, Planes(codes, np.empty(0, np.uint8), scales), backward=backward)


def compare_fp8_row(words: Words, dtype: str, stored: Planes) -> WrongPlace | None:
    """The first row whose stored words are not those that [rows, k] words give."""
    return _on_fp8_row("compare", words, dtype, stored)[1]


def swizzle_scales(scales: Bytes, rows: int, k: int, *, backward: bool = False) -> Bytes:
    """Natural scale words in swizzled order."""
    with at_the_end_of_memory(scales) as natural, at_the_end_of_memory(np.full_like(scales, UNWRITTEN)) as out:
        launch = launches.swizzle_launch(rows, k, scales=natural.ctypes.data, out=out.ctypes.data)
        run(launch, backward=backward)
        return out.copy()


def _on_grouped(
    work: Work, words: Words, dtype: str, code_bits: int, planes: Planes, *, backward: bool = False
) -> tuple[Planes, WrongPlace | None]:
    first = np.array([NOTHING_WRONG], np.uint64)
    with at_the_end_of_memory(as_bytes(words)) as source, _placed(planes) as placed:
        launch = launches.grouped_launch(
            work,
            dtype,
            code_bits,
            *words.shape,
            source=source.ctypes.data,
            planes=_addresses(placed),
            first=first.ctypes.data,
        )
        run(launch, backward=backward)
        return _copy(placed), wrong_place(int(first[0]))


def _on_fp8_row(
    work: Work, words: Words, dtype: str, planes: Planes, *, backward: bool = False
) -> tuple[Planes, WrongPlace | None]:
    first = np.array([NOTHING_WRONG], np.uint64)
    with at_the_end_of_memory(as_bytes(words)) as source, _placed(planes) as placed:
        launch = launches.fp8_row_launch(
            work, dtype, *words.shape, source=source.ctypes.data, planes=_addresses(placed), first=first.ctypes.data
        )
        run(launch, backward=backward)
        return _copy(placed), wrong_place(int(first[0]))


@contextmanager
def _placed(planes: Planes) -> Iterator[Planes]:
    with (
        at_the_end_of_memory(planes.codes) as codes,
        at_the_end_of_memory(planes.high) as high,
        at_the_end_of_memory(planes.scales) as scales,
    ):
        yield Planes(codes, high, scales)


def _addresses(planes: Planes) -> launches.Planes:
    return launches.Planes(planes.codes.ctypes.data, planes.high.ctypes.data, planes.scales.ctypes.data)


def _copy(planes: Planes) -> Planes:
    return Planes(planes.codes.copy(), planes.high.copy(), planes.scales.copy())
