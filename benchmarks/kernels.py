"""GB/s of source of each encoder and of the verifier's derivation, beside memcpy, on one thread and on two."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from rich.table import Table

from schemas.registry import FORMATS, Format, GroupedGeometry
from schemas.storage_layouts import PlaneName, payload
from workers import _native
from workers.engine.scratch import Bytes
from workers.engine.sources.aligned import aligned_bytes

ROWS, COLUMNS = 4096, 5120
MEMCPY_BYTES = 512 << 20
RUNS = 5


def measure() -> Table:
    """Best of five runs each, over a [4096, 5120] BF16 matrix a thread."""
    table = Table("kernel", "GB/s, one thread", "/ memcpy", "GB/s, two threads", "/ memcpy", title="kernels")
    copy = memcpy_rate()
    table.add_row("memcpy, 512 MiB", f"{copy:.1f}", "1.00", "", "")
    for name, work in _kernels().items():
        one, two = _rate(work, 1), _rate(work, 2)
        table.add_row(name, f"{one:.2f}", f"{one / copy:.2f}", f"{two:.2f}", f"{two / copy:.2f}")
    return table


def memcpy_rate() -> float:
    """GB/s that one thread copies between two buffers of 512 MiB."""
    source, target = aligned_bytes(MEMCPY_BYTES), aligned_bytes(MEMCPY_BYTES)
    source[:] = 1
    target[:] = 0
    return MEMCPY_BYTES / min(seconds(lambda: np.copyto(target, source)) for _ in range(RUNS)) / 1e9


def seconds(work: Callable[[], object]) -> float:
    """What one run of the work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _rate(make: Callable[[], Callable[[], object]], threads: int) -> float:
    work = [make() for _ in range(threads)]
    size = ROWS * COLUMNS * 2 * threads
    with ThreadPoolExecutor(threads) as pool:
        return size / min(seconds(lambda: list(pool.map(lambda one: one(), work))) for _ in range(RUNS)) / 1e9


def _weights() -> Bytes:
    values = np.random.default_rng(1).standard_normal(ROWS * COLUMNS, dtype=np.float32) * np.float32(0.02)
    words = aligned_bytes(ROWS * COLUMNS * 2)
    words[:] = (values.view(np.uint32) >> np.uint32(16)).astype("<u2").view(np.uint8)
    return words


def _kernels() -> dict[str, Callable[[], Callable[[], object]]]:
    source = _weights()
    kernels: dict[str, Callable[[], Callable[[], object]]] = {}
    for format, row in FORMATS.items():
        if isinstance(row.geometry, GroupedGeometry):
            kernels[f"encode {format}"] = partial(_grouped, source, format, row.geometry, "encode")
            kernels[f"derive {format}"] = partial(_grouped, source, format, row.geometry, "derive")
            kernels[f"derive {format}, statistics"] = partial(_grouped, source, format, row.geometry, "statistics")
    for what in ("encode", "derive", "statistics"):
        name = "derive" if what == "statistics" else what
        suffix = ", statistics" if what == "statistics" else ""
        kernels[f"{name} {Format.FP8_E4M3FN_ROW_BF16S}{suffix}"] = partial(_fp8_row, source, what)
    return kernels


def _grouped(source: Bytes, format: Format, geometry: GroupedGeometry, what: str) -> Callable[[], object]:
    planes = {plane.name: aligned_bytes(plane.bytes) for plane in payload(format, (ROWS, COLUMNS), where="").planes}
    codes, high, scales = (
        planes[PlaneName.CODES],
        planes.get(PlaneName.HIGH, aligned_bytes(0)),
        planes[PlaneName.SCALES],
    )
    bits = geometry.code_bits
    _native.encode_grouped(source, "BF16", bits, COLUMNS, codes, high, scales)
    if what == "encode":
        return lambda: _native.encode_grouped(source, "BF16", bits, COLUMNS, codes, high, scales)
    statistics = what == "statistics"
    return lambda: _native.derive_grouped(source, "BF16", bits, COLUMNS, codes, high, scales, statistics)


def _fp8_row(source: Bytes, what: str) -> Callable[[], object]:
    codes, scales = aligned_bytes(ROWS * COLUMNS), aligned_bytes(ROWS * 2)
    _native.encode_fp8_row(source, "BF16", COLUMNS, codes, scales)
    if what == "encode":
        return lambda: _native.encode_fp8_row(source, "BF16", COLUMNS, codes, scales)
    return lambda: _native.derive_fp8_row(source, "BF16", COLUMNS, codes, scales, what == "statistics")
