"""GB/s that each kernel moves on a GPU, sources and planes together, beside a copy within the device in one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any

from rich.table import Table

from schemas.registry import FORMATS, Format, GroupedGeometry
from schemas.storage_layouts import PlaneName, payload
from workers.cuda.compilation import MachineCode, cache_folder
from workers.cuda.device import find_device
from workers.cuda.launches import Launch, Planes, fp8_row_launch, grouped_launch, swizzle_launch
from workers.cuda.sources import Work

ROWS, COLUMNS = 16384, 16384
RUNS = 20
COPY_BYTES = 1 << 30
WORKS: tuple[Work, ...] = ("encode", "compare")


@dataclass(frozen=True, slots=True)
class Measured:
    """One launch, and the bytes that it reads and writes."""

    name: str
    moved: int
    launch: Launch


def measure() -> Table:
    """Best of twenty runs each, over a [16384, 16384] BF16 matrix. Raises DeviceError where there is no GPU."""
    device = find_device()
    import torch

    from workers.cuda.streams import Kernels, TorchStream

    stream = TorchStream(Kernels(device, MachineCode(cache_folder())))
    where = torch.device("cuda", device.index)
    one = torch.zeros(COPY_BYTES, dtype=torch.uint8, device=where)
    other = torch.empty_like(one)
    source = (torch.randn(ROWS, COLUMNS, device=where) * 0.02).to(torch.bfloat16)
    first = torch.full((1,), -1, dtype=torch.int64, device=where)
    torch.cuda.synchronize()

    def rate(moved: int, work: Callable[[], object]) -> float:
        milliseconds = inf
        with torch.cuda.stream(stream.stream):
            for _ in range(RUNS):
                started, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                started.record()
                work()
                ended.record()
                ended.synchronize()
                milliseconds = min(milliseconds, started.elapsed_time(ended))
        return moved / milliseconds / 1e6

    copy = rate(2 * COPY_BYTES, lambda: other.copy_(one))
    table = Table("kernel", "GB/s", "/ copy", title=f"{device.name}, {device.architecture}")
    table.add_row("copy of 1 GiB within the device", f"{copy:.0f}", "1.00")
    for measured in (*_encoders(source, first), _swizzle(one, other)):
        found = rate(measured.moved, partial(stream.launch, measured.launch))
        table.add_row(measured.name, f"{found:.0f}", f"{found / copy:.2f}")
    if int(first.item()) != -1:
        raise RuntimeError("the kernels find something wrong with what they made")
    return table


def _encoders(source: Any, first: Any) -> Iterator[Measured]:
    """Each encoder, and then the comparison of what it made."""
    at = {"source": source.data_ptr(), "first": first.data_ptr()}
    for format, row in FORMATS.items():
        geometry = row.geometry
        if not isinstance(geometry, GroupedGeometry) and format is not Format.FP8_E4M3FN_ROW_BF16S:
            continue
        sizes = {plane.name: plane.bytes for plane in payload(format, (ROWS, COLUMNS), where="").planes}
        made = {name: first.new_empty(-(-size // first.itemsize)) for name, size in sizes.items()}
        addresses = {name: tensor.data_ptr() for name, tensor in made.items()}
        planes = Planes(addresses[PlaneName.CODES], addresses.get(PlaneName.HIGH, 0), addresses[PlaneName.SCALES])
        for work in WORKS:
            if isinstance(geometry, GroupedGeometry):
                launch = grouped_launch(work, "BF16", geometry.code_bits, ROWS, COLUMNS, planes=planes, **at)
            else:
                launch = fp8_row_launch(work, "BF16", ROWS, COLUMNS, planes=planes, **at)
            yield Measured(f"{work} {format}", source.nbytes + sum(sizes.values()), launch)


def _swizzle(natural: Any, out: Any) -> Measured:
    launch = swizzle_launch(ROWS, COLUMNS, scales=natural.data_ptr(), out=out.data_ptr())
    return Measured("swizzle the scales of NVFP4", 2 * ROWS * COLUMNS // 16, launch)
