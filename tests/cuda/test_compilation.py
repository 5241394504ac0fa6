"""NVRTC compiles every kernel for every architecture, without a driver, and what comes out rounds as formats say."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from cuda.bindings import nvrtc

from tests.cuda.ptx import inexact, instructions
from workers.cuda import compilation
from workers.cuda.compilation import ARCHITECTURES, EXACT, Compiled, MachineCode, compile_program
from workers.cuda.sources import PROGRAMS, Program

SWIZZLE = next(program for program in PROGRAMS if program.name == "swizzle.cu")
FP8_ROW = next(program for program in PROGRAMS if program.name == "fp8_row.cu")

ENCODER_HAS = {"div.rn.f32", "mul.rn.f32", "add.rn.f32"}
VERIFIER_HAS = {"mul.rn.f64", "cvt.rn.f32.f64"}
"""Its scales come from integers, its quotients from products that are exact in binary64."""


def rounding_instructions(program: Program) -> set[str]:
    """What each kernel of the program must have."""
    if program == SWIZZLE:
        return set()
    return VERIFIER_HAS if program.name.startswith("compare") else ENCODER_HAS


@cache
def compiled(program: Program, architecture: str) -> Compiled:
    return compile_program(program, architecture)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_every_kernel_compiles_and_rounds_once(program: Program, architecture: str) -> None:
    made = compiled(program, architecture)
    assert made.cubin.startswith(b"\x7fELF")
    kernels = instructions(made.ptx)
    assert kernels.keys() == set(program.kernels)
    for name, kernel in kernels.items():
        assert name.encode() in made.cubin
        assert not inexact(kernel), name
        assert rounding_instructions(program) <= set(kernel), name
    text = made.ptx.lower()
    assert "fma" not in text
    assert ".approx" not in text
    assert ".ftz" not in text
    assert f".target {architecture}" in text


def test_encoders_read_and_write_wide() -> None:
    """Sixteen bytes a load in every kernel that reads octets."""
    for program in PROGRAMS:
        for name, kernel in instructions(compiled(program, "sm_90").ptx).items():
            wide = {"st.global.v4.u32"} if program == SWIZZLE else {"ld.global.nc.v4.u32"}
            assert wide <= set(kernel), name


def test_the_verifier_divides_no_floating_point() -> None:
    for program in PROGRAMS:
        if program.name.startswith("compare"):
            for kernel in instructions(compiled(program, "sm_90").ptx).values():
                assert "div.u64" in kernel
                assert not any(one.startswith("div") and one.endswith(("f32", "f64")) for one in kernel)


def test_fast_arithmetic_would_be_seen() -> None:
    made = compile_program(FP8_ROW, "sm_90", ("--std=c++17", "--use_fast_math"))
    for kernel in instructions(made.ptx).values():
        assert inexact(kernel)


@pytest.mark.parametrize(
    "instruction",
    ["fma.rn.f32", "fma.rn.f64", "mad.f32", "div.approx.f32", "div.full.f32", "rcp.approx.ftz.f32", "add.ftz.f32",
     "mul.f32", "mul.rz.f32", "cvt.rz.f32.f64", "cvt.rni.s32.f32", "cvt.f32.s32"],
)  # fmt: skip
def test_what_is_inexact(instruction: str) -> None:
    assert inexact([instruction]) == [instruction]


@pytest.mark.parametrize("instruction", ["mul.rn.f32", "cvt.rn.f32.f64", "cvt.f64.f32", "mad.lo.s32", "cvt.u32.u16"])
def test_what_is_exact(instruction: str) -> None:
    assert not inexact([instruction])


def test_errors_carry_the_compilers_words() -> None:
    with pytest.raises(RuntimeError, match=r"swizzle\.cu for sm_90: .*unrecognized option"):
        compile_program(SWIZZLE, "sm_90", ("--no-such-option",))
    with pytest.raises(RuntimeError, match=r"swizzle\.cu for sm_1: .*gpu-architecture"):
        compile_program(SWIZZLE, "sm_1")


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Architectures that something was compiled for, in order."""
    made: list[str] = []

    def counted(program: Program, architecture: str) -> Compiled:
        made.append(architecture)
        return compiled(program, architecture)

    monkeypatch.setattr(compilation, "compile_program", counted)
    return made


def test_machine_code_is_compiled_once(tmp_path: Path, compilations: list[str]) -> None:
    expected = compiled(SWIZZLE, "sm_90").cubin
    assert MachineCode(tmp_path / "kernels").of(SWIZZLE, "sm_90") == expected
    assert MachineCode(tmp_path / "kernels").of(SWIZZLE, "sm_90") == expected
    assert compilations == ["sm_90"]
    assert MachineCode(tmp_path / "kernels").of(SWIZZLE, "sm_80") != expected
    assert compilations == ["sm_90", "sm_80"]
    assert all(path.suffix == ".cubin" for path in (tmp_path / "kernels").iterdir())


def test_changed_machine_code_is_not_used(tmp_path: Path, compilations: list[str]) -> None:
    expected = MachineCode(tmp_path).of(SWIZZLE, "sm_90")
    (path,) = tmp_path.iterdir()
    for at in (0, 40, path.stat().st_size - 1):
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        path.write_bytes(data)
        assert MachineCode(tmp_path).of(SWIZZLE, "sm_90") == expected
    path.write_bytes(b"")
    assert MachineCode(tmp_path).of(SWIZZLE, "sm_90") == expected
    assert len(compilations) == 5


@pytest.mark.parametrize("what", ["options", "version", "source"])
def test_machine_code_is_of_these_words(
    what: str, tmp_path: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    MachineCode(tmp_path).of(SWIZZLE, "sm_90")
    if what == "options":
        monkeypatch.setattr(compilation, "EXACT", (*EXACT, "--extra-device-vectorization"))
    elif what == "version":
        monkeypatch.setattr(nvrtc, "nvrtcVersion", lambda: (nvrtc.nvrtcResult.NVRTC_SUCCESS, 99, 1))
    else:
        monkeypatch.setattr(Program, "text", SWIZZLE.text + b"\n")
    MachineCode(tmp_path).of(SWIZZLE, "sm_90")
    assert len(compilations) == 2


def test_what_cannot_be_kept_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: Path, _target: Path) -> Path:
        raise OSError("no")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="no"):
        MachineCode(tmp_path).of(SWIZZLE, "sm_90")
    assert not list(tmp_path.iterdir())
