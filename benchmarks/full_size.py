"""A conversion at full size: Qwen3.6-27B, 55.6 GB of mostly holes, to its 17.5 GB, by the commands that people give."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from blake3 import blake3
from rich.table import Table

from benchmarks.kernels import memcpy_rate
from benchmarks.peak_memory import PeakMemory
from benchmarks.sparse_checkpoint import FullSize, write_full_size
from schemas.recipe.expanded import ExpandedRecipe
from service.cli.application import application
from workers.engine.convert import Observers, convert
from workers.engine.plan import Plan, plan_conversion
from workers.engine.recipe.load import read_recipe
from workers.engine.sources.roots import ANYWHERE
from workers.engine.verify import Coverage

FILLED, HOLES = range(40, 44), range(44, 48)
"""Text layers of random words, and as many of the same kinds with holes."""
THREADS = 2
RUNS = 3
BUDGET_MIB = 600
DIGESTED_BYTES = 256 << 20


def measure(folder: Path | None = None) -> Table:
    """Converts below `folder` (None: where temporary files go), which needs room for 24 GB, and leaves nothing."""
    table = Table("what", "s", "GB/s of source", "MiB above idle", "budget MiB", title="full size")
    with TemporaryDirectory(dir=folder) as name:
        sparse = write_full_size(Path(name), filled_layers=FILLED)
        _add_rates(table)
        _add_commands(table, sparse)
        _add_layers(table, sparse)
    return table


def _add_rates(table: Table) -> None:
    """What this machine does meanwhile, on one thread."""
    block = bytes(DIGESTED_BYTES)
    digests: dict[str, Callable[[bytes], object]] = {"BLAKE3": blake3, "SHA-256": sha256}
    table.add_row("memcpy", "", f"{memcpy_rate():.2f}")
    for name, digest in digests.items():
        started = time.perf_counter()
        digest(block)
        table.add_row(name, "", f"{DIGESTED_BYTES / (time.perf_counter() - started) / 1e9:.2f}")


@dataclass(frozen=True, slots=True)
class _Command:
    """What one command took. All times are of the clock that every process reads; `lines` are those of its progress."""

    started: float
    ended: float
    mib: float
    lines: list[tuple[float, str]]

    @property
    def seconds(self) -> float:
        return self.ended - self.started


def _add_commands(table: Table, sparse: FullSize) -> None:
    out, report = sparse.recipe.with_name("out.ninfer"), sparse.recipe.with_name("report.json")
    given = [str(sparse.recipe), *(f"--source={name}={place}" for name, place in sparse.places.items())]
    source_bytes = sum(shard.stat().st_size for shard in sparse.base.glob("*.safetensors"))

    def add(what: str, command: _Command, seconds: float, size: int = 0) -> None:
        rate = f"{size / seconds / 1e9:.2f}" if size else ""
        table.add_row(what, f"{seconds:.1f}", rate, f"{command.mib:.0f}", str(BUDGET_MIB))

    planned = _run("plan", *given)
    add("ninforge plan", planned, planned.seconds)
    made = _run("convert", *given, f"--out={out}", "--verify=full", f"--report={report}", f"--threads={THREADS}")
    encoded = max(at for at, line in made.lines if line.startswith("converting"))
    durable = min(at for at, line in made.lines if line.startswith("verifying"))
    add(f"ninforge convert --verify full, to {out.stat().st_size / 1e9:.2f} GB", made, made.seconds, source_bytes)
    add("- encoding", made, encoded - made.started, source_bytes)
    add("- waiting for the disk", made, durable - encoded)
    add("- verifying", made, made.ended - durable, source_bytes)
    verified = _run("verify", str(out), f"--report={report}", f"--threads={THREADS}")
    add("ninforge verify --report", verified, verified.seconds)
    out.unlink()


def _run(*arguments: str) -> _Command:
    """Runs a command of ninforge in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.full_size", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines = [(time.perf_counter(), line) for line in process.stderr or ()]
        printed = process.stdout.read() if process.stdout else ""
    if process.returncode:
        sys.exit("".join(line for _, line in lines))
    started, ended, mib = json.loads(printed.splitlines()[-1])
    return _Command(started, ended, mib, lines)


def _run_here(arguments: list[str]) -> None:
    """Runs a command of ninforge and prints when it started, when it ended, and the MiB that it took above idle."""
    memory = PeakMemory()
    started = time.perf_counter()
    failed = application(arguments, standalone_mode=False)
    ended = time.perf_counter()
    if failed:
        sys.exit(failed)
    print(json.dumps([started, ended, memory.mib_above_idle()]))


def _add_layers(table: Table, sparse: FullSize) -> None:
    """Only some layers, words against holes, the better of some runs each in turn."""
    recipe = read_recipe(sparse.recipe)
    plans = {
        words: plan_conversion(_only(recipe, layers), {"base": sparse.base}, roots=ANYWHERE)
        for words, layers in {"random words": FILLED, "holes": HOLES}.items()
    }
    runs = [{words: _convert(planned, sparse) for words, planned in plans.items()} for _ in range(RUNS)]
    for words, planned in plans.items():
        size = sum(one.source_bytes for one in planned.objects)
        for number, phase in enumerate(("encoding", "verifying")):
            best = min(run[words][number] for run in runs)
            table.add_row(f"{len(FILLED)} layers of {words}, {phase}", f"{best:.1f}", f"{size / best / 1e9:.2f}")


def _only(recipe: ExpandedRecipe, layers: Iterable[int]) -> ExpandedRecipe:
    """The part of the recipe that makes these text layers."""
    names = tuple(f"text/layers/{layer}/" for layer in layers)
    return replace(
        recipe,
        sources={"base": replace(recipe.sources["base"], unused=("*",))},
        resources=(),
        objects=tuple(one for one in recipe.objects if one.name.startswith(names)),
    )


class _Clock:
    """Notes when a phase began and when it last went on."""

    def __init__(self) -> None:
        self.first = 0.0
        self.last = 0.0

    def advanced(self, index: int, payload_bytes: int) -> None:  # noqa: ARG002 - the time alone counts
        self.last = time.perf_counter()
        self.first = self.first or self.last


def _convert(planned: Plan, sparse: FullSize) -> tuple[float, float]:
    """Seconds of encoding and of verifying."""
    out = sparse.recipe.with_name("layers.ninfer")
    encoding, verifying = _Clock(), _Clock()
    started = time.perf_counter()
    convert(planned, out, coverage=Coverage.FULL, threads=THREADS, observers=Observers(encoding, verifying))
    out.unlink()
    return encoding.last - started, verifying.last - verifying.first


if __name__ == "__main__":
    _run_here(sys.argv[1:])
