"""The CUDA sources that are compiled at run time, the native headers that they share with the CPU, and their kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

SOURCE_DTYPES = ("BF16", "F16", "F32")
CODE_BITS = (4, 5, 6, 8)

_KERNELS = Path(__file__).parent / "kernels"
_NATIVE = Path(__file__).parents[1] / "native"

HEADER_PATHS: Mapping[str, Path] = MappingProxyType(
    {
        "encoder.h": _NATIVE / "encode" / "encoder.h",
        "octets.cuh": _KERNELS / "octets.cuh",
    }
)
"""What the sources include, by the name that they include it under. The compiler is handed them from memory."""


@dataclass(frozen=True, slots=True)
class Program:
    """One file of kernels, compiled as a whole."""

    name: str
    kernels: tuple[str, ...]

    @property
    def path(self) -> Path:
        return _KERNELS / self.name

    @property
    def text(self) -> bytes:
        return self.path.read_bytes()


def headers() -> dict[str, bytes]:
    """The text of each header by its name."""
    return {name: path.read_bytes() for name, path in HEADER_PATHS.items()}


def grouped_kernel(code_bits: int, dtype: str) -> str:
    """The kernel that encodes words of BF16, F16 or F32 into a grouped format of 4, 5, 6 or 8 bits."""
    return f"encode_grouped_{code_bits}_{dtype.lower()}"


def fp8_row_kernel(dtype: str) -> str:
    """The kernel that encodes words of BF16, F16 or F32 into row-scaled FP8."""
    return f"encode_fp8_row_{dtype.lower()}"


PROGRAMS = (
    Program("grouped.cu", tuple(grouped_kernel(bits, dtype) for dtype in SOURCE_DTYPES for bits in CODE_BITS)),
    Program("fp8_row.cu", tuple(fp8_row_kernel(dtype) for dtype in SOURCE_DTYPES)),
    Program("swizzle.cu", ("swizzle_scales",)),
)
