"""What a device does in order: copies in, kernels, copies out.

Each thread that encodes has a stream of its own, so that what one thread reads and writes overlaps with what the device
does for another.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from cuda.bindings import driver

from schemas.errors import DeviceError
from workers.cuda.compilation import MachineCode
from workers.cuda.device import Device
from workers.cuda.launches import Launch
from workers.cuda.sources import PROGRAMS

Bytes = npt.NDArray[np.uint8]


class Kernels:
    """The kernels of a device, loaded. Threads may share it."""

    def __init__(self, device: Device, machine_code: MachineCode) -> None:
        self.device = device
        (number,) = checked(driver.cuInit(0), driver.cuDeviceGet(device.index))
        (self._context,) = checked(driver.cuDevicePrimaryCtxRetain(number))
        self.enter()
        self._functions: dict[str, Any] = {}
        for program in PROGRAMS:
            (module,) = checked(driver.cuModuleLoadData(machine_code.of(program, device.architecture)))
            for kernel in program.kernels:
                (self._functions[kernel],) = checked(driver.cuModuleGetFunction(module, kernel.encode()))

    def enter(self) -> None:
        """Lets the calling thread use the device. torch works in the same context."""
        checked(driver.cuCtxSetCurrent(self._context))

    def launch(self, launch: Launch, stream: int) -> None:
        """Runs a kernel after all that the stream was given before."""
        values = tuple(argument.value or 0 for argument in launch.arguments)
        types = tuple(type(argument) for argument in launch.arguments)
        function = self._functions[launch.kernel]
        grid, block = (launch.blocks, 1, 1), (launch.threads, 1, 1)
        checked(driver.cuLaunchKernel(function, *grid, *block, 0, stream, (values, types), 0))


class TorchStream:
    """A stream of torch's with device memory of its own. Nothing is done when a method returns but `wait`."""

    def __init__(self, kernels: Kernels) -> None:
        kernels.enter()
        self._kernels = kernels
        self._where = torch.device("cuda", kernels.device.index)
        self.stream = torch.cuda.Stream(self._where)
        self._memory = torch.empty(0, dtype=torch.uint8, device=self._where)

    def memory(self, size: int) -> int:
        """The address of at least `size` bytes, at a multiple of 256. Earlier addresses are no longer valid."""
        if self._memory.numel() < size:
            with torch.cuda.stream(self.stream):
                self._memory = torch.empty(size, dtype=torch.uint8, device=self._where)
        return self._memory.data_ptr()

    def copy_in(self, address: int, data: Bytes) -> None:
        """Copies to the device. Data in pinned memory must stay as it is until `wait` returns."""
        if data.size:
            checked(driver.cuMemcpyHtoDAsync(address, data.ctypes.data, data.size, self._handle))

    def copy_out(self, data: Bytes, address: int) -> None:
        """Copies from the device; `data` is filled when `wait` returns."""
        if data.size:
            checked(driver.cuMemcpyDtoHAsync(data.ctypes.data, address, data.size, self._handle))

    def fill(self, address: int, byte: int, size: int) -> None:
        """Sets bytes of device memory."""
        checked(driver.cuMemsetD8Async(address, byte, size, self._handle))

    def launch(self, launch: Launch) -> None:
        """Runs a kernel."""
        self._kernels.launch(launch, self._handle)

    def wait(self) -> None:
        """Returns when all is done; other threads run meanwhile. Raises DeviceError where any of it failed."""
        try:
            self.stream.synchronize()
        except RuntimeError as error:
            raise DeviceError(self._kernels.device.name, expected="kernels that run", found=str(error)) from error

    @property
    def _handle(self) -> int:
        return int(self.stream.cuda_stream)


def pinned_bytes(size: int) -> Bytes:
    """Page-aligned host memory that a device copies from and to without the processor."""
    return np.asarray(torch.empty(max(size, 1), dtype=torch.uint8, pin_memory=True).numpy())[:size]


def checked(*answers: tuple[Any, ...]) -> list[Any]:
    """The values of the last of the driver's answers. Raises DeviceError unless every status is success."""
    for status, *_ in answers:
        if status != driver.CUresult.CUDA_SUCCESS:
            raise DeviceError("the CUDA driver", expected="success", found=status.name)
    return list(answers[-1][1:])
