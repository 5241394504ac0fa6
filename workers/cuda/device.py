"""Finds the GPU that this process may use, or says why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.errors import DeviceError

LEAST_CAPABILITY = (8, 0)
"""The oldest architecture that the kernels are compiled for."""

ASKED_FOR = "device cuda"


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU by its number in this process, its name, and the architecture that code for it is compiled for."""

    index: int
    name: str
    architecture: str


def find_device() -> Device:
    """The first GPU. Raises DeviceError, which says what is missing: torch, CUDA in it, a driver, or a GPU."""
    try:
        import torch
        from cuda.bindings import driver, nvrtc  # noqa: F401 - with torch in the extra, and missing without it
    except ImportError as error:
        raise _missing(f"no {error.name}: install ninforge[cuda]") from None
    if torch.version.cuda is None:
        raise _missing(f"torch {torch.__version__}, which was built without CUDA")
    if not torch.cuda.is_available():
        raise _missing(f"torch {torch.__version__}, which finds no driver or no GPU")
    properties = torch.cuda.get_device_properties(0)
    return capable(Device(0, properties.name, f"sm_{properties.major}{properties.minor}"), properties.major)


def capable(device: Device, major: int) -> Device:
    """The same device. Raises DeviceError if it is too old for the kernels."""
    if major < LEAST_CAPABILITY[0]:
        raise DeviceError(
            ASKED_FOR,
            expected="a GPU of compute capability {}.{} or newer".format(*LEAST_CAPABILITY),
            found=f"{device.name}, {device.architecture}",
        )
    return device


def _missing(found: str) -> DeviceError:
    return DeviceError(ASKED_FOR, expected="torch with CUDA, a driver and an NVIDIA GPU", found=found)
