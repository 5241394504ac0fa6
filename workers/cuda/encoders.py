"""The native encoders' functions (workers/_native.pyi) on a device.

A block goes in, is encoded, is compared with its source by the verifier's arithmetic, and comes out. A block that the
device refuses is given to the CPU, whose fault names the word.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from schemas.errors import DeviceError
from schemas.source_dtypes import ELEMENT_BYTES, SourceDtype
from workers import _native
from workers.cuda.launches import (
    NOTHING_WRONG,
    Finding,
    Launch,
    Planes,
    WrongPlace,
    fp8_row_launch,
    grouped_launch,
    swizzle_launch,
    wrong_place,
)
from workers.cuda.sources import Work

Bytes = npt.NDArray[np.uint8]

ALIGNMENT = 256


class Stream(Protocol):
    """Work of a device, done in the order that it is given in (workers/cuda/streams.py)."""

    def memory(self, size: int) -> int: ...
    def copy_in(self, address: int, data: Bytes) -> None: ...
    def copy_out(self, data: Bytes, address: int) -> None: ...
    def fill(self, address: int, byte: int, size: int) -> None: ...
    def launch(self, launch: Launch) -> None: ...
    def wait(self) -> None: ...


class DeviceEncoders:
    """Encoders on one device, for any number of threads: each has a stream, opened when it first encodes."""

    least_threads = 2

    def __init__(self, device: str, open_stream: Callable[[], Stream], allocate: Callable[[int], Bytes]) -> None:
        self.device = device
        self.backend = f"cuda ({device})"
        self.allocate = allocate
        self._open_stream = open_stream
        self._of_thread = threading.local()

    def encode_grouped(
        self, source: Bytes, dtype: str, code_bits: int, k: int, codes: Bytes, high: Bytes, scales: Bytes
    ) -> _native.Fault | None:
        """As _native.encode_grouped. Raises DeviceError where the device does not give the words that it should."""
        rows = source.size // (k * ELEMENT_BYTES[SourceDtype(dtype)])

        def launch(work: Work, at: list[int]) -> Launch:
            planes = Planes(codes=at[1], high=at[2], scales=at[3])
            return grouped_launch(work, dtype, code_bits, rows, k, source=at[0], planes=planes, first=at[4])

        if self._encode(source, (codes, high, scales), launch):
            return None
        return self._required(_native.encode_grouped(source, dtype, code_bits, k, codes, high, scales))

    def encode_fp8_row(self, source: Bytes, dtype: str, k: int, codes: Bytes, scales: Bytes) -> _native.Fault | None:
        """As _native.encode_fp8_row. Raises DeviceError where the device does not give the words that it should."""
        rows = source.size // (k * ELEMENT_BYTES[SourceDtype(dtype)])

        def launch(work: Work, at: list[int]) -> Launch:
            planes = Planes(codes=at[1], high=0, scales=at[2])
            return fp8_row_launch(work, dtype, rows, k, source=at[0], planes=planes, first=at[3])

        if self._encode(source, (codes, scales), launch):
            return None
        return self._required(_native.encode_fp8_row(source, dtype, k, codes, scales))

    def swizzle_scales(self, scales: Bytes, k: int, out: Bytes) -> None:
        """As _native.swizzle_scales."""
        stream = self._stream()
        natural, swizzled = _addresses(stream, [scales.size, out.size])
        stream.copy_in(natural, scales)
        stream.launch(swizzle_launch(scales.size // (k // 16), k, scales=natural, out=swizzled))
        stream.copy_out(out, swizzled)
        stream.wait()

    def _encode(self, source: Bytes, planes: tuple[Bytes, ...], launch: Callable[[Work, list[int]], Launch]) -> bool:
        """Fills the planes; False if something in the source is refused.

        `launch` is given the addresses of source, planes, and the word that a kernel says in what is wrong.
        """
        stream = self._stream()
        word_bytes = np.dtype(np.uint64).itemsize
        sizes = [source.size, *(plane.size for plane in planes), word_bytes, word_bytes]
        *places, encoding, comparison = _addresses(stream, sizes)
        stream.copy_in(places[0], source)
        for first in (encoding, comparison):
            stream.fill(first, NOTHING_WRONG & 0xFF, word_bytes)
        stream.launch(launch("encode", [*places, encoding]))
        stream.launch(launch("compare", [*places, comparison]))
        words = self._found()
        for word, first in zip(words, (encoding, comparison), strict=True):
            stream.copy_out(word.view(np.uint8), first)
        for plane, address in zip(planes, places[1:], strict=True):
            stream.copy_out(plane, address)
        stream.wait()
        encoded, compared = (wrong_place(int(word[0])) for word in words)
        if encoded is None and compared is not None:
            raise self._wrong(compared)
        return encoded is None

    def _stream(self) -> Stream:
        if not hasattr(self._of_thread, "stream"):
            self._of_thread.stream = self._open_stream()
        stream: Stream = self._of_thread.stream
        return stream

    def _found(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """Two words of this thread's, which a device copies to."""
        if not hasattr(self._of_thread, "found"):
            words = self.allocate(16).view(np.uint64)
            self._of_thread.found = words[:1], words[1:]
        found: tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]] = self._of_thread.found
        return found

    def _wrong(self, place: WrongPlace) -> DeviceError:
        what = "scale" if place.finding is Finding.WRONG_SCALE else "code"
        return DeviceError(
            self.device,
            expected="the words that the source gives",
            found=f"a wrong {what} in group or row {place.number} of a block",
        )

    def _required(self, fault: _native.Fault | None) -> _native.Fault:
        if fault is None:
            raise DeviceError(
                self.device,
                expected="a block to be encoded, as on the CPU",
                found="it refused, though nothing is wrong",
            )
        return fault


def _addresses(stream: Stream, sizes: list[int]) -> list[int]:
    """Device memory for pieces of these sizes."""
    offsets = [0]
    for size in sizes:
        offsets.append(offsets[-1] + -(-size // ALIGNMENT) * ALIGNMENT)
    base = stream.memory(offsets.pop())
    return [base + offset for offset in offsets]
