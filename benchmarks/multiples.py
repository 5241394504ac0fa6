"""How many times faster the grouped encoders are than a plain torch implementation of the same algorithm, from BF16.

Both have two threads, and seconds of the processor count, so that other work on the same machine counts little. A
multiple says something only if the torch implementation is as fast as one was found to be.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from rich.table import Table

from benchmarks.kernels import COLUMNS, ROWS, processor_seconds
from benchmarks.torch_reference import encode_grouped
from schemas.registry import FORMATS, Format, GroupedGeometry
from schemas.storage_layouts import PlaneName, payload
from workers import _native
from workers.engine.scratch import Bytes
from workers.engine.sources.aligned import aligned_bytes

MULTIPLES = "multiples"
THREADS = 2
RUNS = 5
FIFTH = 0.2
"""How far from the expected rate torch may be."""


@dataclass(frozen=True, slots=True)
class _Budget:
    """GB/s of source expected of torch on two cores, and how many times as fast the encoder is to be."""

    torch: float
    times: int


BUDGETS = {
    Format.Q4G64_F16S: _Budget(0.10, 100),
    Format.Q5G64_F16S: _Budget(0.058, 150),
    Format.Q6G64_F16S: _Budget(0.045, 200),
    Format.W8G32_F16S: _Budget(0.167, 60),
}


def measure() -> Table:
    """GB/s of source, [4096, 5120], and multiples of them; on the wall in brackets."""
    title = f"{MULTIPLES} of torch, {_native.instruction_set()}"
    table = Table("format", "encoder", "torch", "of what is expected", "times", "at least", title=title)
    torch.set_num_threads(THREADS)
    words = (torch.randn(ROWS, COLUMNS) * 0.02).to(torch.bfloat16)
    for format, budget in BUDGETS.items():
        geometry = FORMATS[format].geometry
        assert isinstance(geometry, GroupedGeometry)  # noqa: S101
        ours, theirs = _encoder(words, format, geometry), _torch(words, geometry)
        share = theirs.of_processor / budget.torch
        table.add_row(
            format.partition("_")[0],
            str(ours),
            str(theirs),
            f"{share:.2f} of {budget.torch}: {_verdict(share)}",
            f"{ours.of_processor / theirs.of_processor:.0f} ({ours.on_the_wall / theirs.on_the_wall:.0f})",
            str(budget.times),
        )
    return table


def _verdict(share: float) -> str:
    if share < 1 - FIFTH:
        return "too slow, the multiple does not count"
    return "faster" if share > 1 + FIFTH else "within a fifth"


@dataclass(frozen=True, slots=True)
class _Rate:
    """GB/s over the seconds that the processor worked for a thread, and over those on the wall."""

    of_processor: float
    on_the_wall: float

    def __str__(self) -> str:
        return f"{self.of_processor:.3g} ({self.on_the_wall:.3g})"


def _encoder(words: torch.Tensor, format: Format, geometry: GroupedGeometry) -> _Rate:
    """Each thread encodes the whole matrix. What it makes is held to what torch makes."""
    source = aligned_bytes(2 * words.numel())
    source[:] = words.view(torch.uint8).reshape(-1).numpy()
    planes = [_planes(format) for _ in range(THREADS)]
    work = [
        partial(_native.encode_grouped, source, "BF16", geometry.code_bits, COLUMNS, *of_thread) for of_thread in planes
    ]
    with ThreadPoolExecutor(THREADS) as pool:
        runs = [_timed(lambda: max(pool.map(processor_seconds, work))) for _ in range(RUNS)]
    expected = encode_grouped(words, geometry)
    for made, plane in zip(planes[0], (expected.codes, expected.high, expected.scales), strict=True):
        np.testing.assert_array_equal(made, plane.numpy())
    gigabytes = THREADS * source.nbytes / 1e9
    return _Rate(gigabytes / min(cpu for _, cpu in runs), gigabytes / min(wall for wall, _ in runs))


def _torch(words: torch.Tensor, geometry: GroupedGeometry) -> _Rate:
    def run() -> float:
        started = time.process_time()
        encode_grouped(words, geometry)
        return (time.process_time() - started) / THREADS

    runs = [_timed(run) for _ in range(RUNS)]
    gigabytes = 2 * words.numel() / 1e9
    return _Rate(gigabytes / min(cpu for _, cpu in runs), gigabytes / min(wall for wall, _ in runs))


def _timed(run: Callable[[], float]) -> tuple[float, float]:
    """Seconds on the wall, and what the run returns."""
    started = time.perf_counter()
    returned = run()
    return time.perf_counter() - started, returned


def _planes(format: Format) -> tuple[Bytes, Bytes, Bytes]:
    planes = {plane.name: aligned_bytes(plane.bytes) for plane in payload(format, (ROWS, COLUMNS), where="").planes}
    return planes[PlaneName.CODES], planes.get(PlaneName.HIGH, aligned_bytes(0)), planes[PlaneName.SCALES]
