"""Whole conversions beside the least that they do, their verification, and the memory of both.

Each phase runs in a process of its own, each in its turn, with the checkpoint in the page cache. Of each the best of
some rounds counts, in seconds and in seconds of the processor.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.table import Table

from benchmarks.checkpoints import fill, recipe_of, trained_words, write_header
from benchmarks.floor import run_floor
from benchmarks.peak_memory import PeakMemory
from schemas.registry import Format
from workers import _native
from workers.engine.encode import create_work_files, encode_objects
from workers.engine.plan import Plan, plan_conversion
from workers.engine.sources.roots import ANYWHERE
from workers.engine.steps import SilentObserver
from workers.engine.verify import Coverage, verify_artifact

CONVERT = "conversion"
GIGABYTES = 4.0
COLUMNS = 5120
MATRICES = 24
FORMATS = (
    Format.Q4G64_F16S,
    Format.Q5G64_F16S,
    Format.Q6G64_F16S,
    Format.W8G32_F16S,
    Format.FP8_E4M3FN_ROW_BF16S,
    Format.BF16,
)
THREADS = 2
RUNS = 5


def shapes(gigabytes: float) -> dict[str, tuple[int, int]]:
    """Matrices of that many GB of BF16: one is a quarter of it, as an embedding may be, the others share the rest."""
    rows = int(gigabytes * 1e9) // (2 * COLUMNS)
    each = rows * 3 // 4 // MATRICES
    return {"embedding": (rows - MATRICES * each, COLUMNS)} | {
        f"matrix {number}": (each, COLUMNS) for number in range(MATRICES)
    }


@dataclass(frozen=True, slots=True)
class _Took:
    """Seconds on the wall, seconds of the processor, and MiB of memory above what the process had before."""

    seconds: float
    cpu: float
    mib: float

    def __str__(self) -> str:
        return f"{self.seconds:.2f} ({self.cpu:.2f})"

    def of(self, other: _Took) -> str:
        return f"{self.seconds / other.seconds:.2f} ({self.cpu / other.cpu:.2f})"


def measure(gigabytes: float = GIGABYTES) -> Table:
    """Seconds, processor seconds in brackets, and MiB above idle, for each format from BF16."""
    table = Table("format", *PHASES, "/ floor", "/ larger", "MiB", title=_title(gigabytes))
    with TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "model.safetensors"
        start = write_header(checkpoint, {name: ("BF16", shape) for name, shape in shapes(gigabytes).items()})
        with checkpoint.open("r+b") as file:
            fill(file, start, checkpoint.stat().st_size - start, trained_words(seed=2))
            os.fsync(file.fileno())
        for format in FORMATS:
            rounds = [[_in_a_process(checkpoint, format, gigabytes, what) for what in PHASES] for _ in range(RUNS)]
            best = dict(zip(PHASES, map(_best, zip(*rounds, strict=True)), strict=True))
            conversion, verification = best["conversion"], best["verification"]
            larger = _larger(conversion, best["SHA-256"])
            memory = f"{conversion.mib:.0f}; {verification.mib:.0f}"
            ratios = (conversion.of(best["floor"]), verification.of(larger), memory)
            table.add_row(format.partition("_")[0], *map(str, best.values()), *ratios)
    return table


def _title(gigabytes: float) -> str:
    return f"{CONVERT} of {gigabytes:g} GB, s (CPU s), {_native.instruction_set()}"


def _larger(one: _Took, other: _Took) -> _Took:
    return _Took(max(one.seconds, other.seconds), max(one.cpu, other.cpu), 0)


def _best(rounds: tuple[_Took, ...]) -> _Took:
    return _Took(min(r.seconds for r in rounds), min(r.cpu for r in rounds), max(r.mib for r in rounds))


def _in_a_process(checkpoint: Path, format: Format, gigabytes: float, what: str) -> _Took:
    os.sync()  # what was done before left to write
    given = [what, str(checkpoint), format, str(gigabytes), _native.instruction_set()]
    command = [sys.executable, "-m", "benchmarks.conversion", *given]
    return _Took(*json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def _convert(plan: Plan, out: Path) -> None:
    create_work_files(plan, out)
    largest_first = sorted(plan.objects, key=lambda one: -one.source_bytes)
    indices = [one.index for one in largest_first]
    encode_objects(plan, out, indices, threads=THREADS, worker="benchmark", observer=SilentObserver())


def _verify(plan: Plan, out: Path) -> None:
    verify_artifact(plan, out, coverage=Coverage.FULL, threads=THREADS, observer=SilentObserver(), artifact_id=None)


def _floor(plan: Plan, out: Path) -> None:
    run_floor(plan, out, THREADS)


def _sha256(_plan: Plan, out: Path) -> None:
    with out.open("rb") as file:
        file_digest(file, "sha256")


PHASES: dict[str, Callable[[Plan, Path], None]] = {
    "floor": _floor,
    "conversion": _convert,
    "verification": _verify,
    "SHA-256": _sha256,
}
"""What is measured, each after the one before it."""
MAKING = frozenset({"floor", "conversion"})
"""The phases that make the artifact."""


def _measure_here(what: str, checkpoint: Path, format: Format, gigabytes: float, instruction_set: str) -> None:
    """Does one of the phases and prints what it took, in the order of `_Took`."""
    _native.use_instruction_set(instruction_set)
    objects = [{"name": name, "shape": list(shape), "format": format} for name, shape in shapes(gigabytes).items()]
    plan = plan_conversion(recipe_of(objects), {"base": checkpoint}, roots=ANYWHERE)
    out = checkpoint.with_name("out.ninfer")
    if what in MAKING:
        out.unlink(missing_ok=True)  # giving a large file back takes a while, which is nobody's
    memory = PeakMemory()
    started, cpu = time.perf_counter(), time.process_time()
    PHASES[what](plan, out)
    took, of_processor = time.perf_counter() - started, time.process_time() - cpu
    print(json.dumps([took, of_processor, memory.mib_above_idle()]))


if __name__ == "__main__":
    _measure_here(sys.argv[1], Path(sys.argv[2]), Format(sys.argv[3]), float(sys.argv[4]), sys.argv[5])
