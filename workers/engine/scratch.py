"""Reusable page-aligned buffers of one thread."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from workers.engine.sources.aligned import aligned_bytes

Bytes = npt.NDArray[np.uint8]


class Scratch:
    """Buffers by name, kept between blocks and grown to the largest size asked for.

    A buffer is valid until the same name is asked for again. `allocate` makes page-aligned arrays of so many bytes.
    """

    def __init__(self, allocate: Callable[[int], Bytes] = aligned_bytes) -> None:
        self._allocate = allocate
        self._buffers: dict[str, Bytes] = {}

    def take(self, name: str, size: int) -> Bytes:
        """A page-aligned uint8 array of `size` bytes; its contents are whatever the last user left."""
        held = self._buffers.get(name)
        if held is None or held.size < size:
            held = self._buffers[name] = self._allocate(size)
        return held[:size]
