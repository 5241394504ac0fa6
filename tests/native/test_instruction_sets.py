"""Every instruction set gives the same bits: by itself, on the oracle's cases, without the portable kernels' help."""

from __future__ import annotations

import os
import platform
import shutil
import struct
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.conformance.blocks import FP8_ROW, SCHEMES, Block
from tests.conformance.golden import golden_block, vectors
from tests.conformance.table import FAMILIES, cases
from tests.instruction_sets import RUNNABLE, using
from tests.native.planes import (
    CODE_BITS,
    DTYPES,
    derive_fp8,
    derive_grouped,
    encode_fp8,
    encode_grouped,
    float_words,
)
from workers import _native

pytestmark = pytest.mark.timeout(1200)  # a compiler on a busy machine

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "workers" / "native"
CHECK = Path(__file__).parent / "vector_kernels" / "check.cpp"
PORTABLE = [
    "encode/vector_kernels.cpp",
    "instruction_sets.cpp",
    "verify/fp8_row.cpp",
    "verify/grouped.cpp",
    "verify/vector_kernels.cpp",
]
FLAGS = [
    "-std=c++17",
    "-O3",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-Wall",
    "-Wextra",
    "-Werror",
]
OF_MACHINE = {"x86_64": ("avx2", "avx512"), "aarch64": ("neon",)}
TARGET_FLAGS = {
    "avx2": ["-mavx2", "-mf16c"],
    "avx512": ["-mavx2", "-mf16c", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"],
    "neon": [],
}
ODD_WARNINGS = ["-Wno-uninitialized", "-Wno-maybe-uninitialized"]
"""What GCC 12 says of its own intrinsics."""


@dataclass(frozen=True)
class Tools:
    """What compiles for a machine and runs what was compiled."""

    compiler: str
    symbols: str
    runner: tuple[str, ...]


def tools_for(machine: str) -> Tools:
    """This machine's own, or Debian's cross compiler and qemu; where they are absent, CI fails and others skip."""
    if machine == platform.machine():
        return Tools("g++", "nm", ())
    prefix, emulator = f"{machine}-linux-gnu-", f"qemu-{machine}"
    if shutil.which(prefix + "g++") and shutil.which(emulator):
        return Tools(prefix + "g++", prefix + "nm", (emulator, "-L", f"/usr/{machine}-linux-gnu"))
    packages = f"g++-{machine}-linux-gnu, qemu-user"
    reason = f"kernels for {machine} were not exercised: needs {prefix}g++ and {emulator} (Debian: {packages})"
    if "CI" in os.environ:
        pytest.fail(reason)
    pytest.skip(reason)


def build(machine: str, folder: Path) -> tuple[Tools, Path]:
    """The check program for a machine."""
    tools = tools_for(machine)
    sources = [(NATIVE / name, name.replace("/", "_"), list[str]()) for name in PORTABLE]
    sources.append((CHECK, "check", []))
    for name in OF_MACHINE[machine]:
        for part in ("encode", "verify"):
            flags = TARGET_FLAGS[name] + ODD_WARNINGS
            sources.append((NATIVE / part / f"kernels_{name}.cpp", f"{part}_{name}", flags))
    objects = [str(folder / f"{name}.o") for _, name, _ in sources]

    def compile_one(index: int) -> None:
        source, _, flags = sources[index]
        run(tools.compiler, *FLAGS, *flags, f"-I{NATIVE}", "-c", str(source), "-o", objects[index])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(compile_one, range(len(sources))))
    run(tools.compiler, *objects, "-o", str(folder / "check"))
    return tools, folder / "check"


def run(*command: str) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture(scope="module", params=OF_MACHINE)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Tools, Path]:
    return request.param, *build(request.param, tmp_path_factory.mktemp("kernels"))


def blocks() -> Iterator[Block]:
    """Some of every family of cases, and the golden vectors."""
    for family in FAMILIES:
        yield from cases(family)[::8]
    for file in ("grouped.json", "fp8_row.json"):
        yield from (golden_block(vector) for vector in vectors(file))


def record(block: Block) -> bytes:
    """A case as the check program reads it."""
    bits = 0 if block.format == FP8_ROW else SCHEMES[block.format].code_bits
    rows = block.refusal.row if block.refusal else block.n
    head = struct.pack("<5I", DTYPES.index(block.dtype), bits, block.n, block.k, rows)
    return head + block.source + block.planes.codes + block.planes.high + block.planes.scales


@pytest.fixture(scope="module")
def case_file(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """Cases, and their number."""
    records = [record(block) for block in blocks()]
    file = tmp_path_factory.mktemp("cases") / "cases"
    file.write_bytes(b"".join(records))
    return file, len(records)


def test_vector_kernels_give_the_bits_of_the_oracle(
    built: tuple[str, Tools, Path], case_file: tuple[Path, int]
) -> None:
    machine, tools, program = built
    file, count = case_file
    for name in OF_MACHINE[machine]:
        if machine == platform.machine() and name not in RUNNABLE:
            continue
        assert run(*tools.runner, str(program), name, str(file)) == f"{count} cases\n"


def test_vector_kernels_lend_no_code_to_others(built: tuple[str, Tools, Path]) -> None:
    """A linker keeps one copy of a function that several files bring; none may bring one that others could get."""
    machine, tools, program = built
    for name in OF_MACHINE[machine]:
        for part in ("encode", "verify"):
            listing = run(
                tools.symbols, "--defined-only", "--extern-only", "-C", str(program.parent / f"{part}_{name}.o")
            )
            names = [line.split(maxsplit=2)[2] for line in listing.splitlines()]
            assert names == [f"ninforge::{part}::k{name.capitalize()}Kernels"]


@pytest.mark.parametrize("name", [name for name in _native.instruction_sets() if name not in RUNNABLE] or ["none"])
def test_what_was_compiled_was_exercised(name: str) -> None:
    if name != "none":
        pytest.skip(f"kernels for {name} were compiled but not exercised: this processor does not have it")


def test_another_set_can_be_used_and_no_absent_one() -> None:
    before = _native.instruction_set()
    for name in RUNNABLE:
        with using(name):
            assert _native.instruction_set() == name
    assert _native.instruction_set() == before
    with pytest.raises(ValueError, match=r"^name: expected one of portable.*, found 'mmx'$"):
        _native.use_instruction_set("mmx")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [64, 333])
def test_statistics_are_the_same_bits(dtype: str, k: int) -> None:
    words = float_words(np.random.default_rng(k), dtype, (9, k), (5, 16) if dtype == "F16" else (100, 124))
    seen = set()
    for name in RUNNABLE:
        with using(name):
            of_grouped = [
                derive_grouped(words, dtype, bits, encode_grouped(words, dtype, bits), statistics=True)
                for bits in CODE_BITS
            ]
            of_rows = derive_fp8(words, dtype, encode_fp8(words, dtype), statistics=True)
        sums = [(of.row_error.tobytes(), of.row_signal.tobytes(), of.max_abs) for of in (*of_grouped, of_rows)]
        seen.add(tuple(sums))
    assert len(seen) == 1
