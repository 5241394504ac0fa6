"""A stream whose device is the emulation: memory is the host's, and all that was asked for is done on waiting."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

import numpy as np

from tests.cuda import emulated
from tests.native.planes import Bytes
from workers.cuda.encoders import ALIGNMENT, DeviceEncoders
from workers.cuda.launches import Launch
from workers.engine.sources.aligned import aligned_bytes

ONE_AT_A_TIME = threading.Lock()
"""The emulation runs one grid at a time; a device would take turns too."""


class EmulatedStream:
    """Does things as late as a device may: what is read before `wait` has not been written."""

    def __init__(self) -> None:
        self._memory = aligned_bytes(0)
        self._given: list[Callable[[], object]] = []
        self.launches: list[str] = []

    def memory(self, size: int) -> int:
        assert not self._given, "memory that is in use was asked for anew"
        if self._memory.size < size:
            self._memory = aligned_bytes(size)
            self._memory[:] = 0xC3
        address = self._memory.ctypes.data
        assert address % ALIGNMENT == 0
        return address

    def copy_in(self, address: int, data: Bytes) -> None:
        self._given.append(lambda: ctypes.memmove(address, data.ctypes.data, data.size))

    def copy_out(self, data: Bytes, address: int) -> None:
        self._given.append(lambda: ctypes.memmove(data.ctypes.data, address, data.size))

    def fill(self, address: int, byte: int, size: int) -> None:
        self._given.append(lambda: ctypes.memset(address, byte, size))

    def launch(self, launch: Launch) -> None:
        self.launches.append(launch.kernel)
        self._given.append(lambda: self.run(launch))

    def run(self, launch: Launch) -> None:
        """Runs a kernel, as a device would that has come to it."""
        with ONE_AT_A_TIME:
            emulated.run(launch)

    def wait(self) -> None:
        given, self._given = self._given, []
        for one in given:
            one()


def emulated_encoders(open_stream: Callable[[], EmulatedStream] = EmulatedStream) -> DeviceEncoders:
    """Encoders on the emulation."""
    return DeviceEncoders("an emulated device", open_stream, lambda size: np.zeros(size, np.uint8))
