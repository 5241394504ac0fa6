"""Memory that positioned reads are quick into."""

from __future__ import annotations

import mmap

import numpy as np
import numpy.typing as npt


def aligned_bytes(size: int) -> npt.NDArray[np.uint8]:
    """A zeroed, page-aligned array of `size` bytes, given back to the system when nothing refers to it.

    Reads into memory that is not 64-byte aligned, which numpy gives, run at a fifth of the speed.
    """
    region = mmap.mmap(-1, max(size, mmap.PAGESIZE), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(region, dtype=np.uint8)[:size]
