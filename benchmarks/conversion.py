"""Time and peak memory of a whole conversion: one 2 GB tensor, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.table import Table

from benchmarks.checkpoints import fill, recipe_of, trained_words, write_header
from benchmarks.peak_memory import PeakMemory
from schemas.registry import Format
from workers.engine.convert import Observers, convert
from workers.engine.plan import plan_conversion
from workers.engine.sources.roots import Roots
from workers.engine.steps import SilentObserver
from workers.engine.verify import Coverage

SHAPE = (97_656, 10_240)
BUDGET_MIB = 600
CONVERT = "conversion"


def measure() -> Table:
    """Seconds and MiB above idle for each coverage of verification."""
    table = Table("format", "verify", "source GB", "s", "MiB above idle", "budget MiB", title=CONVERT)
    with TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "model.safetensors"
        start = write_header(checkpoint, {"weight": ("BF16", SHAPE)})
        size = checkpoint.stat().st_size - start
        with checkpoint.open("r+b") as file:
            fill(file, start, size, trained_words(seed=2))
        for format in (Format.Q4G64_F16S, Format.Q6G64_F16S):
            for verify in ("none", "full"):
                seconds, mib = _in_a_process(checkpoint, format, verify)
                table.add_row(format, verify, f"{size / 1e9:.2f}", f"{seconds:.2f}", f"{mib:.0f}", str(BUDGET_MIB))
    return table


def _in_a_process(checkpoint: Path, format: Format, verify: str) -> tuple[float, float]:
    command = [sys.executable, "-m", "benchmarks.conversion", str(checkpoint), format, verify]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, mib = printed.split()
    return float(seconds), float(mib)


def _convert_once(checkpoint: Path, format: Format, verify: str) -> None:
    """Converts once and prints seconds and the peak of resident memory above what the process had before, in MiB."""
    recipe = recipe_of([{"name": "weight", "shape": list(SHAPE), "format": format}])
    plan = plan_conversion(recipe, {"base": checkpoint}, roots=Roots(None))
    memory = PeakMemory()
    started = time.perf_counter()
    convert(
        plan,
        checkpoint.with_name("out.ninfer"),
        coverage=None if verify == "none" else Coverage(verify),
        threads=2,
        observers=Observers(SilentObserver(), SilentObserver()),
        overwrite=True,
    )
    seconds = time.perf_counter() - started
    print(f"{seconds} {memory.mib_above_idle()}")


if __name__ == "__main__":
    _convert_once(Path(sys.argv[1]), Format(sys.argv[2]), sys.argv[3])
