"""The emulation finds what would go wrong on a device."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.cuda.emulated import EmulationError, Library
from workers.cuda.launches import Launch

SOURCE = r"""
#include "octets.cuh"
using namespace ninforge::cuda;

extern "C" __global__ void sum_neighbours(const i32* in, i32* out) {
    __shared__ i32 seen[64];
    seen[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = seen[threadIdx.x] + seen[(threadIdx.x + 1) % 64];
}
extern "C" __global__ void without_barrier(const i32* in, i32* out) {
    __shared__ i32 seen[64];
    seen[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = seen[threadIdx.x] + seen[63 - threadIdx.x];
}
extern "C" __global__ void largest(const i32* in, i32* out) {
    out[threadIdx.x] = largest_of_lanes<8>(in[threadIdx.x]);
}
extern "C" __global__ void some_lanes_shuffle(const i32* in, i32* out) {
    if (threadIdx.x % 2 == 0) out[threadIdx.x] = largest_of_lanes<8>(in[threadIdx.x]);
}
extern "C" __global__ void some_warps_wait(const i32* in, i32* out) {
    out[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x < 32) __syncthreads();
}
extern "C" __global__ void some_lanes_wait(const i32*, i32*) {
    if (threadIdx.x == 3) __syncthreads();
}
"""
KERNELS = ("sum_neighbours", "without_barrier", "largest", "some_lanes_shuffle", "some_warps_wait", "some_lanes_wait")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("emulation")
    source = folder / "examples.cu"
    source.write_text(SOURCE, encoding="utf-8")
    yield Library(source, KERNELS, folder)


def run(library: Library, kernel: str, *, blocks: int = 1, backward: bool = False) -> list[int]:
    given = np.random.default_rng(5).integers(0, 1000, 64 * blocks, np.int32)
    out = np.zeros_like(given)
    arguments = (ctypes.c_void_p(given.ctypes.data), ctypes.c_void_p(out.ctypes.data))
    library.run(Launch(kernel, blocks, 64, arguments), backward=backward)
    return [int(value) for value in out]


GIVEN = [int(value) for value in np.random.default_rng(5).integers(0, 1000, 192, np.int32)]


@pytest.mark.parametrize("backward", [False, True])
def test_threads_share_memory_and_registers(library: Library, backward: bool) -> None:
    rows = [GIVEN[start : start + 64] for start in (0, 64, 128)]
    expected = [row[i] + row[(i + 1) % 64] for row in rows for i in range(64)]
    assert run(library, "sum_neighbours", blocks=3, backward=backward) == expected
    row = GIVEN[:64]
    assert run(library, "largest", backward=backward) == [max(row[i // 8 * 8 : i // 8 * 8 + 8]) for i in range(64)]


def test_a_missing_barrier_shows(library: Library) -> None:
    assert run(library, "without_barrier") != run(library, "without_barrier", backward=True)


@pytest.mark.parametrize(
    ("kernel", "error"),
    [
        ("some_lanes_shuffle", "lanes of a warp part"),
        ("some_lanes_wait", "lanes of a warp part"),
        ("some_warps_wait", "a warp ends while others wait at a barrier"),
    ],
)
def test_threads_that_part_are_an_error(library: Library, kernel: str, error: str) -> None:
    with pytest.raises(EmulationError, match=error):
        run(library, kernel)
    assert run(library, "largest")  # and the next grid runs


def test_a_block_is_whole_warps(library: Library) -> None:
    with pytest.raises(EmulationError, match="whole warps"):
        library.run(Launch("largest", 1, 40, (ctypes.c_void_p(0), ctypes.c_void_p(0))))


@pytest.mark.parametrize("past", [0, 1])
def test_what_lies_past_a_buffer_cannot_be_touched(past: int) -> None:
    code = f"""
import ctypes, numpy as np
from tests.cuda.emulated import at_the_end_of_memory
with at_the_end_of_memory(np.arange(48, dtype=np.uint8)) as data:
    print(bytes(data) == bytes(range(48)), data.ctypes.data % 16)
    ctypes.c_uint8.from_address(data.ctypes.data + 47 + {past}).value
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert done.stdout == ("True 0\n" if past == 0 else done.stdout)
    assert done.returncode == (-signal.SIGSEGV if past else 0)
