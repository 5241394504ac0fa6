"""GB/s of source of each kernel beside memcpy, on one thread and on two, and of the encoders beside torch.

Seconds are those that the processor worked for a thread, so that other work on the same machine counts little.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import torch
from rich.table import Table

from benchmarks import torch_reference
from schemas.registry import FORMATS, Format, GroupedGeometry
from schemas.storage_layouts import PlaneName, payload
from workers import _native
from workers.engine.scratch import Bytes
from workers.engine.sources.aligned import aligned_bytes

ROWS, COLUMNS = 4096, 5120
SCALE_ROWS = 16 * ROWS
"""Rows whose NVFP4 scales take as many bytes as a matrix of BF16 has elements."""

MEMCPY_BYTES = 512 << 20
RUNS = 5
DTYPES = {"BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32}

CASTS = (("BF16", "FP32", "exact"), ("F16", "FP32", "exact"), ("F32", "BF16", "rne"), ("F16", "BF16", "rne"))

Work = Callable[[], object]


def measure() -> Table:
    """Best of five runs each, over a [4096, 5120] matrix a thread."""
    title = f"kernels, {_native.instruction_set()}"
    table = Table("kernel", "one thread", "/ memcpy", "two threads", "/ memcpy", "torch", "times", title=title)
    copy = memcpy_rate()
    table.add_row("memcpy, 512 MiB", f"{copy:.1f}", "1.00", "", "", "", "")
    for name, size, make in _kernels():
        one, two = _rate(make, size, 1), _rate(make, size, 2)
        row = [name, f"{one:.2f}", f"{one / copy:.2f}", f"{two:.2f}", f"{two / copy:.2f}"]
        table.add_row(*row, *_beside_torch(name, two))
    return table


def memcpy_rate() -> float:
    """GB/s that one thread copies between two buffers of 512 MiB."""
    source, target = aligned_bytes(MEMCPY_BYTES), aligned_bytes(MEMCPY_BYTES)
    source[:] = 1
    target[:] = 0
    return MEMCPY_BYTES / min(processor_seconds(lambda: np.copyto(target, source)) for _ in range(RUNS)) / 1e9


def seconds(work: Work) -> float:
    """What one run of the work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def processor_seconds(work: Work) -> float:
    """What one run of the work takes of this thread's processor time."""
    started = time.thread_time()
    work()
    return time.thread_time() - started


def _rate(make: Callable[[], Work], size: int, threads: int) -> float:
    work = [make() for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        best = min(max(pool.map(processor_seconds, work)) for _ in range(RUNS))
    return size * threads / best / 1e9


def _beside_torch(name: str, rate: float) -> tuple[str, str]:
    """GB/s of torch on two threads, for encoders that it is compared with, and how many times faster the kernel is."""
    what, _, rest = name.partition(" ")
    format, _, dtype = rest.partition(" from ")
    if what != "encode" or dtype != "BF16":
        return "", ""
    geometry = FORMATS[Format(format)].geometry
    if not isinstance(geometry, GroupedGeometry):
        return "", ""
    torch.set_num_threads(2)
    source = _weights(dtype)
    words = torch.from_numpy(source).view(DTYPES[dtype]).reshape(ROWS, COLUMNS)
    planes = torch_reference.encode_grouped(words, geometry)
    codes, high, scales = _planes(Format(format))
    _native.encode_grouped(source, dtype, geometry.code_bits, COLUMNS, codes, high, scales)
    for ours, theirs in ((codes, planes.codes), (high, planes.high), (scales, planes.scales)):
        np.testing.assert_array_equal(ours, theirs.numpy())
    best = min(_process_seconds(lambda: torch_reference.encode_grouped(words, geometry)) for _ in range(3)) / 2
    reference = source.nbytes / best / 1e9
    return f"{reference:.3f}", f"{rate / reference:.0f}"


def _process_seconds(work: Work) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _weights(dtype: str) -> Bytes:
    values = np.random.default_rng(1).standard_normal(ROWS * COLUMNS, dtype=np.float32) * np.float32(0.02)
    converted = torch.from_numpy(values).to(DTYPES[dtype]).view(torch.uint8).numpy()
    words = aligned_bytes(converted.size)
    words[:] = converted
    return words


def _kernels() -> Iterator[tuple[str, int, Callable[[], Work]]]:
    """Names, bytes of source and what makes one thread's work."""
    for dtype in DTYPES:
        source = _weights(dtype)
        for format, row in FORMATS.items():
            for what in ("encode", "derive", "derive with statistics", "count words of"):
                name = f"{what} {format} from {dtype}"
                if isinstance(row.geometry, GroupedGeometry):
                    yield name, source.nbytes, partial(_grouped, source, dtype, format, row.geometry.code_bits, what)
                elif format is Format.FP8_E4M3FN_ROW_BF16S:
                    yield name, source.nbytes, partial(_fp8_row, source, dtype, what)
    for dtype, to, rule in CASTS:
        source = _weights(dtype)
        for what in ("cast", "derive cast"):
            yield f"{what} {dtype} to {to}, {rule}", source.nbytes, partial(_cast, source, dtype, to, rule, what)
    size = SCALE_ROWS * COLUMNS // 16
    yield "swizzle NVFP4 scales", size, partial(_scales, "swizzle")
    yield "compare swizzled scales", size, partial(_scales, "compare")


def _planes(format: Format) -> tuple[Bytes, Bytes, Bytes]:
    planes = {plane.name: aligned_bytes(plane.bytes) for plane in payload(format, (ROWS, COLUMNS), where="").planes}
    return planes[PlaneName.CODES], planes.get(PlaneName.HIGH, aligned_bytes(0)), planes[PlaneName.SCALES]


def _grouped(source: Bytes, dtype: str, format: Format, bits: int, what: str) -> Work:
    codes, high, scales = _planes(format)
    _native.encode_grouped(source, dtype, bits, COLUMNS, codes, high, scales)
    if what == "encode":
        return lambda: _native.encode_grouped(source, dtype, bits, COLUMNS, codes, high, scales)
    if what == "count words of":
        return lambda: _native.histogram_grouped(bits, COLUMNS, codes, high, scales)
    statistics = what != "derive"
    return lambda: _native.derive_grouped(source, dtype, bits, COLUMNS, codes, high, scales, statistics)


def _fp8_row(source: Bytes, dtype: str, what: str) -> Work:
    codes, scales = aligned_bytes(ROWS * COLUMNS), aligned_bytes(ROWS * 2)
    _native.encode_fp8_row(source, dtype, COLUMNS, codes, scales)
    if what == "encode":
        return lambda: _native.encode_fp8_row(source, dtype, COLUMNS, codes, scales)
    if what == "count words of":
        return lambda: _native.histogram_fp8_row(COLUMNS, codes, scales)
    return lambda: _native.derive_fp8_row(source, dtype, COLUMNS, codes, scales, what != "derive")


def _cast(source: Bytes, dtype: str, to: str, rule: str, what: str) -> Work:
    out = aligned_bytes(ROWS * COLUMNS * (4 if to == "FP32" else 2))
    cast = _native.cast if what == "cast" else _native.derive_cast
    return lambda: cast(source, dtype, to, rule, out)


def _scales(what: str) -> Work:
    natural, stored = aligned_bytes(SCALE_ROWS * COLUMNS // 16), aligned_bytes(SCALE_ROWS * COLUMNS // 16)
    natural[:] = np.random.default_rng(2).integers(0, 0x7F, natural.size, dtype=np.uint8)
    _native.swizzle_scales(natural, COLUMNS, stored)
    if what == "swizzle":
        return lambda: _native.swizzle_scales(natural, COLUMNS, stored)
    return lambda: _native.compare_swizzled(natural, COLUMNS, stored)
