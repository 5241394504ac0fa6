"""What makes stored words of source words: the processor, or a device that whoever calls the engine has found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from workers import _native
from workers.engine.scratch import Bytes
from workers.engine.sources.aligned import aligned_bytes

CPU = "cpu"


class Encoders(Protocol):
    """Encoders of one device. Their functions do what those of workers/_native.pyi do, on any thread."""

    @property
    def backend(self) -> str:
        """What provenance calls the device."""

    @property
    def least_threads(self) -> int:
        """Threads that it takes to keep the device busy while what it made is being written."""

    @property
    def allocate(self) -> Callable[[int], Bytes]:
        """Makes page-aligned buffers of so many bytes that the device copies from and to without a detour."""

    def encode_grouped(
        self, source: Bytes, dtype: str, code_bits: int, k: int, codes: Bytes, high: Bytes, scales: Bytes
    ) -> _native.Fault | None: ...

    def encode_fp8_row(
        self, source: Bytes, dtype: str, k: int, codes: Bytes, scales: Bytes
    ) -> _native.Fault | None: ...

    def swizzle_scales(self, scales: Bytes, k: int, out: Bytes) -> None: ...


@dataclass(frozen=True)
class NativeEncoders:
    """The processor's."""

    backend = CPU
    least_threads = 1
    allocate = staticmethod(aligned_bytes)

    def encode_grouped(
        self, source: Bytes, dtype: str, code_bits: int, k: int, codes: Bytes, high: Bytes, scales: Bytes
    ) -> _native.Fault | None:
        return _native.encode_grouped(source, dtype, code_bits, k, codes, high, scales)

    def encode_fp8_row(self, source: Bytes, dtype: str, k: int, codes: Bytes, scales: Bytes) -> _native.Fault | None:
        return _native.encode_fp8_row(source, dtype, k, codes, scales)

    def swizzle_scales(self, scales: Bytes, k: int, out: Bytes) -> None:
        _native.swizzle_scales(scales, k, out)


NATIVE = NativeEncoders()
