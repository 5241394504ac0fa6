"""A conversion at full size: Qwen3.6-27B, 55.6 GB of mostly holes, to its 17.5 GB, by the commands that people give."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from blake3 import blake3
from rich.table import Table

from benchmarks.kernels import memcpy_rate, seconds
from benchmarks.peak_memory import PeakMemory
from benchmarks.sparse_checkpoint import FullSize, write_full_size
from schemas.recipe.expanded import ExpandedRecipe
from service.cli.application import application
from workers.engine.convert import Observers, convert
from workers.engine.packaging import Packaging
from workers.engine.plan import Plan, plan_conversion
from workers.engine.recipe.load import read_recipe
from workers.engine.sources.aligned import aligned_bytes
from workers.engine.sources.roots import ANYWHERE
from workers.engine.steps import SilentObserver
from workers.engine.verify import Coverage
from workers.engine.verify.legality import verify_words

FILLED, HOLES = range(40, 44), range(44, 48)
"""Text layers of random words, and as many of the same kinds with holes."""
FRAMING = 1
"""That of the published file."""
THREADS = 2
RUNS = 3
DIGESTED_BYTES = 256 << 20


def measure(folder: Path | None = None) -> Table:
    """Converts below `folder` (None: where temporary files go), which needs room for 24 GB, and leaves nothing."""
    table = Table("what", "s", "CPU s", "GB/s of source", "MiB above idle", title="full size")
    with TemporaryDirectory(dir=folder) as name:
        sparse = write_full_size(Path(name), filled_layers=FILLED)
        _add_rates(table)
        _add_commands(table, sparse)
        _add_layers(table, sparse)
    return table


def _add_rates(table: Table) -> None:
    """What one thread of this machine does meanwhile."""
    data = aligned_bytes(DIGESTED_BYTES)
    data[:] = 1
    digests: dict[str, Callable[[memoryview], object]] = {"BLAKE3": blake3, "SHA-256": sha256}
    table.add_row("memcpy", "", "", f"{memcpy_rate():.1f}")
    for name, digest in digests.items():
        best = min(seconds(partial(digest, data.data)) for _ in range(RUNS))
        table.add_row(name, "", "", f"{DIGESTED_BYTES / best / 1e9:.1f}")


@dataclass(frozen=True, slots=True)
class _Command:
    """What one command took, beside the lines of its progress. Its times are of the clock that every process reads."""

    lines: list[tuple[float, str]]
    started: float
    ended: float
    cpu_seconds: float
    mib: float


def _add_commands(table: Table, sparse: FullSize) -> None:
    out, report = sparse.recipe.with_name("out.ninfer"), sparse.recipe.with_name("report.json")
    places = (f"--source={name}={place}" for name, place in sparse.places.items())
    given = [str(sparse.recipe), f"--framing={FRAMING}", *places]
    source_bytes = sum(shard.stat().st_size for shard in sparse.base.glob("*.safetensors"))

    def add(what: str, command: _Command) -> None:
        took, cpu = command.ended - command.started, command.cpu_seconds
        table.add_row(what, f"{took:.1f}", f"{cpu:.1f}", "", f"{command.mib:.0f}")

    def add_part(what: str, started: float, ended: float) -> None:
        table.add_row(what, f"{ended - started:.1f}", "", f"{source_bytes / (ended - started) / 1e9:.2f}")

    add("plan", _run("plan", *given))
    made = _run("convert", *given, "--verify=full", f"--threads={THREADS}", f"--out={out}", f"--report={report}")
    encoded = max(at for at, line in made.lines if line.startswith("converting"))
    durable = min(at for at, line in made.lines if line.startswith("verifying"))
    add(f"convert to {out.stat().st_size} bytes", made)
    add_part("- encoding", made.started, encoded)
    table.add_row("- waiting for the disk", f"{durable - encoded:.1f}")
    add_part("- verifying", durable, made.ended)
    add("verify --report", _run("verify", str(out), f"--report={report}", f"--threads={THREADS}"))
    out.unlink()


def _run(*arguments: str) -> _Command:
    """Runs a command of ninforge in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.full_size", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines = [(time.perf_counter(), line) for line in process.stderr or ()]
        printed = process.stdout.read() if process.stdout else ""
    if process.returncode:
        sys.exit("".join(line for _, line in lines))
    return _Command(lines, *json.loads(printed.splitlines()[-1]))


def _run_here(arguments: list[str]) -> None:
    """Runs a command of ninforge and prints what it took, in the order of `_Command`."""
    memory = PeakMemory()
    started, cpu = time.perf_counter(), time.process_time()
    failed = application(arguments, standalone_mode=False)
    ended, cpu_seconds = time.perf_counter(), time.process_time() - cpu
    if failed:
        sys.exit(failed)
    print(json.dumps([started, ended, cpu_seconds, memory.mib_above_idle()]))


def _add_layers(table: Table, sparse: FullSize) -> None:
    """Only some layers, words against holes: the best of some runs, each in turn."""
    recipe = read_recipe(sparse.recipe)
    plans = {
        words: plan_conversion(
            _only(recipe, layers), {"base": sparse.base}, packaging=Packaging(FRAMING), roots=ANYWHERE
        )
        for words, layers in {"random words": FILLED, "holes": HOLES}.items()
    }
    runs = [{words: _convert(planned, sparse) for words, planned in plans.items()} for _ in range(RUNS)]
    for words, planned in plans.items():
        size = sum(one.source_bytes for one in planned.objects)
        table.add_row(f"{len(FILLED)} layers of {words}")
        for number, phase in enumerate(("encoding", "verifying", "legality alone")):
            best = min(run[words][number] for run in runs)
            table.add_row(f"- {phase}", f"{best:.1f}", "", f"{size / best / 1e9:.2f}")


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


def _convert(planned: Plan, sparse: FullSize) -> tuple[float, float, float]:
    """Seconds of encoding, of verifying, and of checking by itself what was made."""
    out = sparse.recipe.with_name("layers.ninfer")
    encoding, verifying = _Clock(), _Clock()
    started = time.perf_counter()
    convert(planned, out, coverage=Coverage.FULL, threads=THREADS, observers=Observers(encoding, verifying))
    legality = seconds(lambda: verify_words(out, threads=THREADS, observer=SilentObserver()))
    out.unlink()
    return encoding.last - started, verifying.last - verifying.first, legality


if __name__ == "__main__":
    _run_here(sys.argv[1:])
