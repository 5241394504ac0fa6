"""What is asked of driver and torch. Both are stood in for: memory is the host's, kernels run in the emulation."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda.bindings.driver import CUresult

from schemas.errors import DeviceError
from tests.cuda import emulated
from tests.native import planes
from tests.native.planes import as_bytes, blank_grouped, float_words, place
from workers.cuda import compilation, streams
from workers.cuda.compilation import MachineCode
from workers.cuda.device import Device
from workers.cuda.encoders import DeviceEncoders
from workers.cuda.launches import Launch
from workers.cuda.sources import Program

DONE = CUresult.CUDA_SUCCESS
DEVICE = Device(0, "a device of the test's", "sm_90")
STREAM, CONTEXT = 77, "primary context"


class Driver:
    """The functions of cuda.bindings.driver that are called, in place of it."""

    CUresult = CUresult

    def __init__(self) -> None:
        self.answer = DONE
        self.launched: list[Launch] = []
        self.context = ""

    def cuInit(self, _flags: int) -> tuple[Any, ...]:  # noqa: N802 - the driver's name, as those below
        return (self.answer,)

    def cuDeviceGet(self, index: int) -> tuple[Any, ...]:  # noqa: N802
        return DONE, index

    def cuDevicePrimaryCtxRetain(self, _device: int) -> tuple[Any, ...]:  # noqa: N802
        return DONE, CONTEXT

    def cuCtxSetCurrent(self, context: str) -> tuple[Any, ...]:  # noqa: N802
        self.context = context
        return (DONE,)

    def cuModuleLoadData(self, cubin: bytes) -> tuple[Any, ...]:  # noqa: N802
        return DONE, cubin

    def cuModuleGetFunction(self, module: bytes, name: bytes) -> tuple[Any, ...]:  # noqa: N802
        return DONE, (module, name.decode())

    def cuMemcpyHtoDAsync(self, to: int, source: int, size: int, stream: int) -> tuple[Any, ...]:  # noqa: N802
        assert stream == STREAM
        ctypes.memmove(to, source, size)
        return (DONE,)

    cuMemcpyDtoHAsync = cuMemcpyHtoDAsync  # noqa: N815 - the host's memory is the device's

    def cuMemsetD8Async(self, at: int, byte: int, size: int, stream: int) -> tuple[Any, ...]:  # noqa: N802
        assert stream == STREAM
        ctypes.memset(at, byte, size)
        return (DONE,)

    def cuLaunchKernel(self, function: tuple[bytes, str], *rest: Any) -> tuple[Any, ...]:  # noqa: N802
        blocks, *ones, threads, one, other, shared, stream, (values, types), extra = rest
        assert (*ones, one, other, shared, stream, extra) == (1, 1, 1, 1, 0, STREAM, 0)
        assert function[0] == b"code"
        arguments = tuple(type_(value) for value, type_ in zip(values, types, strict=True))
        self.launched.append(Launch(function[1], blocks, threads, arguments))
        emulated.run(self.launched[-1])
        return (self.answer,)


class Torch:
    """The parts of torch that are used."""

    uint8 = np.uint8
    cuda: Any

    def __init__(self) -> None:
        self.cuda = self
        self.error: RuntimeError | None = None
        self.waited = 0
        self.cuda_stream = STREAM

    def device(self, kind: str, index: int) -> tuple[str, int]:
        return kind, index

    def Stream(self, where: tuple[str, int]) -> Torch:  # noqa: N802 - torch's name
        assert where == ("cuda", 0)
        return self

    @contextmanager
    def stream(self, _stream: Torch) -> Iterator[None]:
        yield

    def empty(self, size: int, **_: Any) -> Tensor:
        return Tensor(np.zeros(size, np.uint8))

    def synchronize(self) -> None:
        self.waited += 1
        if self.error is not None:
            raise self.error


class Tensor:
    def __init__(self, data: planes.Bytes) -> None:
        self._data = data

    def numel(self) -> int:
        return self._data.size

    def data_ptr(self) -> int:
        return self._data.ctypes.data

    def numpy(self) -> planes.Bytes:
        return self._data


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    driver = Driver()
    monkeypatch.setattr(streams, "driver", driver)
    return driver


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Torch:
    torch = Torch()
    monkeypatch.setattr(streams, "torch", torch)
    return torch


@pytest.fixture
def kernels(driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> streams.Kernels:  # noqa: ARG001
    def compiled(_program: Program, architecture: str) -> compilation.Compiled:
        assert architecture == "sm_90"
        return compilation.Compiled(b"code", "")

    monkeypatch.setattr(compilation, "compile_program", compiled)
    return streams.Kernels(DEVICE, MachineCode(tmp_path))


def test_a_block_goes_through(kernels: streams.Kernels, driver: Driver, torch: Torch) -> None:
    driver.context = ""
    encoders = DeviceEncoders(DEVICE.name, lambda: streams.TorchStream(kernels), streams.pinned_bytes)
    words = float_words(np.random.default_rng(1), "BF16", (5, 200), (112, 124))
    made = blank_grouped(6, 5, 200)
    fault = encoders.encode_grouped(as_bytes(words), "BF16", 6, 200, made.codes, made.high, made.scales)
    expected = planes.encode_grouped(words, "BF16", 6)
    assert place(fault) is None
    assert np.array_equal(made.codes, expected.codes)
    assert np.array_equal(made.high, expected.high)
    assert np.array_equal(made.scales, expected.scales)
    assert [launch.kernel for launch in driver.launched] == ["encode_grouped_6_bf16", "compare_grouped_6_bf16"]
    assert (driver.context, torch.waited) == (CONTEXT, 1)


def test_what_the_driver_refuses_is_an_error(kernels: streams.Kernels, driver: Driver, torch: Torch) -> None:
    stream = streams.TorchStream(kernels)
    words = np.zeros(64, np.uint8)
    driver.answer = CUresult.CUDA_ERROR_INVALID_VALUE
    with pytest.raises(DeviceError, match="the CUDA driver: expected success, found CUDA_ERROR_INVALID_VALUE"):
        DeviceEncoders(DEVICE.name, lambda: stream, streams.pinned_bytes).swizzle_scales(
            np.zeros(512, np.uint8), 64, np.zeros(512, np.uint8)
        )
    torch.error = RuntimeError("an illegal memory access was encountered")
    stream.copy_in(stream.memory(64), words)
    with pytest.raises(DeviceError, match=r"a device of the test's: expected .*, found an illegal memory access"):
        stream.wait()


def test_memory_grows_and_is_kept(kernels: streams.Kernels, torch: Torch) -> None:
    assert torch.waited == 0
    stream = streams.TorchStream(kernels)
    first = stream.memory(1000)
    assert stream.memory(10) == first
    assert stream.memory(1 << 20) != first


def test_pinned_memory_may_be_empty(torch: Torch) -> None:
    assert torch.waited == 0
    assert [streams.pinned_bytes(size).size for size in (0, 1, 4096)] == [0, 1, 4096]
