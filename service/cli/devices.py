"""Where `ninforge convert` encodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from workers.engine.encode.encoders import Encoders

Device = Literal["auto", "cpu", "cuda"]

DeviceOption = Annotated[
    Device,
    typer.Option("--device", help="Where to encode: `auto` stays on the processor, `cuda` takes the first NVIDIA GPU."),
]


def encoders_on(device: Device) -> Encoders:
    """The encoders of the device that was asked for. Raises DeviceError where there is none."""
    if device == "cuda":
        from workers.cuda.backend import device_encoders

        return device_encoders()
    from workers.engine.encode.encoders import NATIVE

    return NATIVE
