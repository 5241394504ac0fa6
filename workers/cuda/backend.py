"""Puts together what encodes on this process's GPU."""

from __future__ import annotations

from workers.cuda.device import find_device
from workers.cuda.encoders import DeviceEncoders


def device_encoders() -> DeviceEncoders:
    """Encoders on the first GPU, its kernels compiled or taken from disk. Raises DeviceError where there is none."""
    device = find_device()
    # These need what has just been found.
    from workers.cuda.compilation import MachineCode, cache_folder
    from workers.cuda.streams import Kernels, TorchStream, pinned_bytes

    kernels = Kernels(device, MachineCode(cache_folder()))
    return DeviceEncoders(device.name, lambda: TorchStream(kernels), pinned_bytes)
