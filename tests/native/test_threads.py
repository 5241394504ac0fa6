"""Kernels run without the GIL, and on row blocks in several threads as they do alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.native.planes import (
    Planes,
    as_bytes,
    blank_grouped,
    derive_fp8,
    derive_grouped,
    encode_fp8,
    encode_grouped,
    float_words,
    groups_per_row,
)
from workers import _native

WORDS = float_words(np.random.default_rng(1), "F32", (1024, 4096), (112, 124))
GROUPED = encode_grouped(WORDS, "F32", 6)
ROWS = encode_fp8(WORDS, "F32")


def cast() -> None:
    out = np.empty(WORDS.size, np.uint16)
    _native.cast(as_bytes(WORDS), "F32", "BF16", "rne", as_bytes(out))


def histogram(code_bits: int, planes: Planes) -> _native.Histogram:
    return _native.histogram_grouped(code_bits, WORDS.shape[1], planes.codes, planes.high, planes.scales)


KERNELS: dict[str, Callable[[], object]] = {
    "encode_grouped": lambda: encode_grouped(WORDS, "F32", 6),
    "encode_fp8_row": lambda: encode_fp8(WORDS, "F32"),
    "derive_grouped": lambda: derive_grouped(WORDS, "F32", 6, GROUPED),
    "derive_fp8_row": lambda: derive_fp8(WORDS, "F32", ROWS),
    "histogram_grouped": lambda: histogram(6, GROUPED),
    "cast": cast,
}


def runs_beside(kernel: Callable[[], object]) -> bool:
    """Whether this thread saw any time in the middle half of a kernel's run in another one."""
    span: list[float] = []

    def work() -> None:
        span.append(time.perf_counter())
        kernel()
        span.append(time.perf_counter())

    thread = threading.Thread(target=work)
    moments = []
    thread.start()
    while thread.is_alive():
        moments.append(time.perf_counter())
        time.sleep(0)
    thread.join()
    start, end = span
    quarter = (end - start) / 4
    return any(start + quarter < moment < end - quarter for moment in moments)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_release_the_gil(kernel: str) -> None:
    """A busy machine may hide it a few times; a thread that holds the GIL hides it always."""
    assert any(runs_beside(KERNELS[kernel]) for _ in range(50))


@pytest.mark.parametrize("threads", [2, 5])
def test_blocks_of_rows_in_several_threads(threads: int) -> None:
    rows, k = WORDS.shape
    together = blank_grouped(6, rows, k)
    groups = groups_per_row(6, k)

    def encode(row: int) -> object:
        end = min(row + 37, rows)
        return _native.encode_grouped(
            as_bytes(WORDS[row:end]),
            "F32",
            6,
            k,
            together.codes[row * groups * 32 : end * groups * 32],
            together.high[row * groups * 16 : end * groups * 16],
            together.scales[row * groups * 2 : end * groups * 2],
        )

    with ThreadPoolExecutor(threads) as pool:
        assert set(pool.map(encode, range(0, rows, 37))) == {None}
    assert together.codes.tobytes() == GROUPED.codes.tobytes()
    assert together.high.tobytes() == GROUPED.high.tobytes()
    assert together.scales.tobytes() == GROUPED.scales.tobytes()
