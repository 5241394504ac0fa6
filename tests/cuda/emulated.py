"""The kernels on the CPU: their own sources compiled by g++, launched as on a device, every thread run.

Each buffer ends where memory ends, so that reading or writing past it is a fault, and outputs begin unwritten.
"""

from __future__ import annotations

import ctypes
import mmap
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from tests.native.planes import UNWRITTEN, Planes, Words, as_bytes, blank_grouped
from workers.cuda.launches import FINDINGS, NOTHING_REFUSED, THREADS, Finding, Launch, fp8_row_launch, grouped_launch
from workers.cuda.sources import HEADER_PATHS, PROGRAMS

Bytes = npt.NDArray[np.uint8]

EMULATION = Path(__file__).parent / "emulation"
FLAGS = ("-std=c++17", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fPIC", "-shared")
# Jumping between stacks is what the fibers are made of; the fortified longjmp refuses it.
FIBERS = ("-U_FORTIFY_SOURCE",)

PAGE = mmap.PAGESIZE


class EmulationError(Exception):
    """What a device would do with this kernel is undefined."""


class Emulation:
    """Kernels compiled for the CPU."""

    def __init__(self, sources: Sequence[Path], kernels: Sequence[str], folder: Path) -> None:
        program = folder / "kernels.cpp"
        lines = ['#include "cuda_on_host.h"', *(f'#include "{path}"' for path in sources)]
        lines += [f"EMULATED({kernel})" for kernel in kernels]
        program.write_text("\n".join(lines) + "\n", encoding="utf-8")
        library = folder / "kernels.so"
        folders = [EMULATION, *sorted({path.parent for path in HEADER_PATHS.values()})]
        includes = [f"-I{path}" for path in folders]
        command = ["g++", *FLAGS, *FIBERS, *includes, str(program), str(EMULATION / "scheduler.cpp"), "-o", str(library)]
        subprocess.run(command, check=True)
        self._library = ctypes.CDLL(str(library))

    def run(self, launch: Launch, *, backward: bool = False) -> None:
        """Runs every thread of the launch; warps and lanes take turns from the first on, or from the last."""
        function = getattr(self._library, f"emulated_{launch.kernel}")
        function.restype = ctypes.c_char_p
        function.argtypes = [ctypes.c_uint32, ctypes.c_uint32, ctypes.c_bool, ctypes.c_void_p]
        arguments = (ctypes.c_void_p * len(launch.arguments))(*(ctypes.addressof(one) for one in launch.arguments))
        error = function(launch.blocks, THREADS, backward, ctypes.addressof(arguments))
        if error is not None:
            raise EmulationError(error.decode())


@cache
def emulation() -> Emulation:
    """All kernels, compiled once in this process."""
    with TemporaryDirectory() as folder:
        kernels = [kernel for program in PROGRAMS for kernel in program.kernels]
        return Emulation([program.path for program in PROGRAMS], kernels, Path(folder))


@contextmanager
def at_the_end_of_memory(data: Bytes) -> Iterator[Bytes]:
    """A copy of the data that ends at a page which nobody may touch, or at most 15 bytes before it, so as to begin at a
    multiple of 16."""
    length = max(-(-data.size // 16) * 16, 16)
    pages = -(-length // PAGE) * PAGE
    memory = mmap.mmap(-1, pages + PAGE)
    whole = np.frombuffer(memory, np.uint8)
    _protect(whole.ctypes.data + pages, mmap.PROT_READ * 0)
    placed = whole[pages - length : pages - length + data.size]
    placed[:] = data
    yield placed


def _protect(address: int, protection: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(PAGE), protection) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")


def encode_grouped(
    words: Words, dtype: str, code_bits: int, *, backward: bool = False
) -> tuple[Planes, tuple[Finding, int] | None]:
    """Encodes [rows, k] words; also the first refused group's reason and number, if one is."""
    rows, k = words.shape
    blank = blank_grouped(code_bits, rows, k)
    first = np.array([NOTHING_REFUSED], np.uint64)
    with (
        at_the_end_of_memory(as_bytes(words)) as source,
        at_the_end_of_memory(blank.codes) as codes,
        at_the_end_of_memory(blank.high) as high,
        at_the_end_of_memory(blank.scales) as scales,
    ):
        launch = grouped_launch(
            dtype,
            code_bits,
            rows,
            k,
            source=source.ctypes.data,
            codes=codes.ctypes.data,
            high=high.ctypes.data,
            scales=scales.ctypes.data,
            first_refused=first.ctypes.data,
        )
        emulation().run(launch, backward=backward)
        return Planes(codes.copy(), high.copy(), scales.copy()), finding(first)


def encode_fp8_row(
    words: Words, dtype: str, *, backward: bool = False
) -> tuple[Planes, tuple[Finding, int] | None]:
    """Encodes [rows, k] words; also the first refused row's reason and number, if one is."""
    rows, k = words.shape
    first = np.array([NOTHING_REFUSED], np.uint64)
    with (
        at_the_end_of_memory(as_bytes(words)) as source,
        at_the_end_of_memory(np.full(rows * k, UNWRITTEN, np.uint8)) as codes,
        at_the_end_of_memory(np.full(2 * rows, UNWRITTEN, np.uint8)) as scales,
    ):
        launch = fp8_row_launch(
            dtype,
            rows,
            k,
            source=source.ctypes.data,
            codes=codes.ctypes.data,
            scales=scales.ctypes.data,
            first_refused=first.ctypes.data,
        )
        emulation().run(launch, backward=backward)
        return Planes(codes.copy(), np.empty(0, np.uint8), scales.copy()), finding(first)


def finding(first: npt.NDArray[np.uint64]) -> tuple[Finding, int] | None:
    """What a kernel left in `first_refused`."""
    word = int(first[0])
    return None if word == NOTHING_REFUSED else (Finding(word % FINDINGS), word // FINDINGS)
