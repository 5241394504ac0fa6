"""Compiles the kernels with NVRTC, which needs no driver and no device, and keeps the machine code on disk."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuda.bindings import nvrtc

from workers.cuda.sources import Program

ARCHITECTURES = ("sm_80", "sm_89", "sm_90", "sm_100", "sm_120")
"""What the kernels are known to compile for. Newer ones are compiled for as they are found."""

EXACT = ("--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true")
"""Every operation rounds once and subnormals are kept. The kernels use intrinsics that say the same of themselves."""

_DIGEST_BYTES = 32


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program for one architecture, as machine code and as the virtual instructions that it was made from."""

    cubin: bytes
    ptx: str


def compile_program(program: Program, architecture: str, options: tuple[str, ...] = EXACT) -> Compiled:
    """Compiles for an architecture such as sm_90. Raises RuntimeError with the compiler's log where it refuses."""
    given = program.headers()
    created = _checked(
        nvrtc.nvrtcCreateProgram(
            program.text,
            program.name.encode(),
            len(given),
            list(given.values()),
            [name.encode() for name in given],
        )
    )
    flags = [flag.encode() for flag in (f"--gpu-architecture={architecture}", *options, *program.options)]
    try:
        (status,) = nvrtc.nvrtcCompileProgram(created, len(flags), flags)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            log = _output(created, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
            raise RuntimeError(f"{program.name} for {architecture}: {log.decode(errors='replace')}")
        return Compiled(
            cubin=_output(created, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN),
            ptx=_output(created, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX).rstrip(b"\0").decode(),
        )
    finally:
        nvrtc.nvrtcDestroyProgram(created)


class MachineCode:
    """Machine code of programs, compiled once for each architecture, text, set of options and compiler version."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, program: Program, architecture: str) -> bytes:
        """The program's cubin: the one on disk, or else a new one, which is then put there.

        Raises RuntimeError where it does not compile, OSError where the folder cannot be used.
        """
        path = self._folder / f"{_key(program, architecture)}.cubin"
        kept = _intact(path)
        if kept is None:
            kept = compile_program(program, architecture).cubin
            _publish(path, hashlib.sha256(kept).digest() + kept)
        return kept


def cache_folder() -> Path:
    """Where this user's machine code is kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ninforge" / "kernels"


def _key(program: Program, architecture: str) -> str:
    """Names all that the machine code depends on."""
    digest = hashlib.sha256()
    version = "{}.{}".format(*_checked(nvrtc.nvrtcVersion()))
    words = (version, architecture, *EXACT, *program.options)
    texts = (program.text, *(part for name, text in program.headers().items() for part in (name.encode(), text)))
    for part in (*(word.encode() for word in words), *texts):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def _intact(path: Path) -> bytes | None:
    """What was published at the path, unless nothing was or a byte of it changed."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    digest, cubin = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    return cubin if hashlib.sha256(cubin).digest() == digest else None


def _publish(path: Path, data: bytes) -> None:
    """Puts the bytes there in one step, so that no process ever reads half of them."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        pending = Path(file.name)
        try:
            file.write(data)
            file.flush()
            pending.replace(path)
        except BaseException:
            pending.unlink()
            raise


def _output(created: Any, size: Callable[[Any], Any], fill: Callable[[Any, bytearray], Any]) -> bytes:
    data = bytearray(_checked(size(created)))
    _checked(fill(created, data))
    return bytes(data)


def _checked(answer: tuple[Any, ...]) -> Any:
    """The values of an answer whose status is success."""
    status, *values = answer
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(f"NVRTC: {status.name}")
    return values[0] if len(values) == 1 else tuple(values)
