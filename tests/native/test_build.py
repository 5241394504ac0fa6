"""What the extension was compiled from and with, read back from the build, the binary and the sources."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from workers import _native

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "workers" / "native"
BINARY = Path(_native.__file__)
INEXACT = re.compile(
    r"-Ofast|-ffast-math|-funsafe-math-optimizations|-fassociative-math|-freciprocal-math|-ffinite-math-only"
    r"|-fno-signed-zeros|-mdaz-ftz|-ffp-contract=(fast|on)|-fcx-limited-range"
)
FUSED = re.compile(r"\bvfn?m(add|sub)|\bfn?m(add|sub|la|ls)\b")
APPROXIMATE = re.compile(r"\bv?(rcp|rsqrt)(14|28)?[ps][sd]\b|\bfr(ecp|sqrt)[esx]\b")


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def recorded() -> list[str]:
    """The compiler's command lines, as it recorded them in the binary."""
    section = run("readelf", "--string-dump=.GCC.command.line", str(BINARY))
    return [line for line in section.splitlines() if "-O3" in line]


@pytest.fixture(scope="module")
def disassembly() -> str:
    return run("objdump", "--disassemble", "--no-show-raw-insn", str(BINARY))


def test_the_flags_of_the_build_are_exact() -> None:
    flags = _native.build_flags()
    assert {"-O3", "-ffp-contract=off", "-Wall", "-Wextra", "-Wconversion", "-Werror"} <= set(shlex.split(flags))
    assert not INEXACT.search(flags)


def test_the_flags_in_the_binary_are_exact(recorded: list[str]) -> None:
    kernels = [line for line in recorded if "-ffp-contract=off" in line]
    assert kernels
    assert not any(INEXACT.search(line) for line in recorded)


def test_no_instruction_fuses_or_approximates(disassembly: str) -> None:
    assert re.search(r"\bv?(mul|div)ss\b|\bf(mul|div)\b", disassembly), "no binary32 arithmetic was found at all"
    assert not FUSED.search(disassembly)
    assert not APPROXIMATE.search(disassembly)


def test_no_start_up_code_sets_flush_to_zero(disassembly: str) -> None:
    """What -ffast-math links in sets the control register when the library is loaded."""
    assert "set_fast_math" not in run("readelf", "--symbols", "--wide", str(BINARY))
    assert "ldmxcsr" not in disassembly


def includes(source: Path) -> set[Path]:
    """The project's own files that a source includes, directly or not."""
    found: set[Path] = set()
    for name in re.findall(r'^#include "(.+)"$', source.read_text(encoding="utf-8"), re.MULTILINE):
        header = (source.parent / name).resolve()
        found |= {header} | includes(header)
    return found


def test_verifier_and_encoder_share_no_arithmetic() -> None:
    verifier = sorted((NATIVE / "verify").iterdir())
    encoder = sorted((NATIVE / "encode").iterdir())
    assert verifier
    assert encoder
    of_verifier = {header for source in verifier for header in includes(source)}
    of_encoder = {header for source in encoder for header in includes(source)}
    assert {header.name for header in of_verifier & of_encoder} == {
        "dtypes.h",
        "findings.h",
        "instruction_sets.h",
        "prefetch.h",
        "row_split.h",
    }
    for source in verifier:
        assert not any(header.is_relative_to(NATIVE / "encode") for header in includes(source)), source
    for source in encoder:
        assert not any(header.is_relative_to(NATIVE / "verify") for header in includes(source)), source


def test_the_encoder_header_needs_no_standard_headers() -> None:
    header = NATIVE / "encode" / "encoder.h"
    assert "#include" not in header.read_text(encoding="utf-8")
    flags = ["-std=c++17", "-nostdinc", "-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-x", "c++"]
    program = f'#include "{header}"\n'
    subprocess.run(["g++", *flags, "-"], check=True, input=program, text=True)


@pytest.mark.parametrize("flag", ["-ffast-math", "-Ofast"])
def test_the_encoder_header_refuses_fast_arithmetic(flag: str) -> None:
    program = f'#include "{NATIVE / "encode" / "encoder.h"}"\n'
    command = ["g++", "-std=c++17", flag, "-fsyntax-only", "-x", "c++", "-"]
    refused = subprocess.run(command, check=False, input=program, text=True, capture_output=True)
    assert refused.returncode != 0
    assert "binary32 arithmetic must be exact" in refused.stderr


def parameters(function: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in function.args.args]


def test_the_stub_says_what_the_module_has() -> None:
    stub = ast.parse((ROOT / "workers" / "_native.pyi").read_text(encoding="utf-8"))
    functions = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    assert {name for name in vars(_native) if not name.startswith("_")} == functions.keys() | classes.keys()
    for name, function in functions.items():
        signature = getattr(_native, name).__doc__
        names = re.findall(r"(?<=[(\s])(\w+): ", signature)
        assert names == parameters(function), name
        assert function.returns is not None
        result = signature.rsplit(" -> ", 1)[1].replace("workers._native.", "")
        assert set(result.split(" | ")) == set(ast.unparse(function.returns).split(" | ")), name
    for name, class_ in classes.items():
        declared = {node.name for node in class_.body if isinstance(node, ast.FunctionDef)}
        assert {member for member in vars(getattr(_native, name)) if not member.startswith("_")} == declared, name
