"""The CUDA sources that are compiled at run time, the native headers that they share with the CPU, and
the kernels in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from schemas.source_dtypes import SourceDtype

SOURCE_DTYPES = (SourceDtype.BF16, SourceDtype.F16, SourceDtype.F32)
CODE_BITS = (4, 5, 6, 8)

Work: TypeAlias = Literal["encode", "compare"]

_KERNELS = Path(__file__).parent / "kernels"
_NATIVE = Path(__file__).parents[1] / "native"

INCLUDE_FOLDERS = (_KERNELS, _NATIVE / "encode", _NATIVE / "verify")
"""Where the headers lie that the sources include."""

STANDARD_FOLDER = _KERNELS / "standard"
"""What of the standard headers NVRTC has to be given."""

VERIFIER_OPTIONS = ("--device-as-default-execution-space", "-D__builtin_clzll=__clzll", "-D__builtin_fabs=fabs")
"""The verifier's headers know nothing of devices."""

_ENCODER_HEADERS = ("encoder.h", "octets.cuh")
_VERIFIER_HEADERS = ("e4m3fn.h", "exact.h", "grouped_codes.h", "octets.cuh", "source_words.h")


@dataclass(frozen=True, slots=True)
class Program:
    """One file of kernels, compiled as a whole, with the names of what it includes, directly or not."""

    name: str
    kernels: tuple[str, ...]
    includes: tuple[str, ...] = ("octets.cuh",)
    options: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        return _KERNELS / self.name

    @property
    def text(self) -> bytes:
        return self.path.read_bytes()

    def headers(self) -> dict[str, bytes]:
        """The text of each header by the name that it is included under."""
        own = {name: _header(name).read_bytes() for name in self.includes}
        return own | {path.name: path.read_bytes() for path in sorted(STANDARD_FOLDER.iterdir())}


def _header(name: str) -> Path:
    return next(folder / name for folder in INCLUDE_FOLDERS if (folder / name).exists())


def grouped_kernel(work: Work, code_bits: int, dtype: str) -> str:
    """The kernel for words of BF16, F16 or F32 and a grouped format of 4, 5, 6 or 8 bits."""
    return f"{work}_grouped_{code_bits}_{dtype.lower()}"


def fp8_row_kernel(work: Work, dtype: str) -> str:
    """The kernel for words of BF16, F16 or F32 and row-scaled FP8."""
    return f"{work}_fp8_row_{dtype.lower()}"


def _grouped_kernels(work: Work) -> tuple[str, ...]:
    return tuple(grouped_kernel(work, bits, dtype) for dtype in SOURCE_DTYPES for bits in CODE_BITS)


def _fp8_row_kernels(work: Work) -> tuple[str, ...]:
    return tuple(fp8_row_kernel(work, dtype) for dtype in SOURCE_DTYPES)


PROGRAMS = (
    Program("grouped.cu", _grouped_kernels("encode"), _ENCODER_HEADERS),
    Program("fp8_row.cu", _fp8_row_kernels("encode"), _ENCODER_HEADERS),
    Program("swizzle.cu", ("swizzle_scales",)),
    Program("compare_grouped.cu", _grouped_kernels("compare"), _VERIFIER_HEADERS, VERIFIER_OPTIONS),
    Program("compare_fp8_row.cu", _fp8_row_kernels("compare"), _VERIFIER_HEADERS, VERIFIER_OPTIONS),
)
