"""Whether the weights of an artifact find room in the memory of common GPUs.

Memory is what the makers state, and a GB of it is counted as 10^9 bytes: a little less than what is really there.
"""

from __future__ import annotations

from dataclasses import dataclass

_GB = 10**9


@dataclass(frozen=True, slots=True)
class Gpu:
    """Models of GPUs with the same memory."""

    names: str
    memory_bytes: int


GPUS = (
    Gpu("GeForce RTX 3060, 4070, 5070", 12 * _GB),
    Gpu("GeForce RTX 4060 Ti 16 GB, 4080, 5060 Ti 16 GB, 5070 Ti, 5080", 16 * _GB),
    Gpu("GeForce RTX 3090, 4090; L4", 24 * _GB),
    Gpu("GeForce RTX 5090", 32 * _GB),
    Gpu("RTX A6000, RTX 6000 Ada, L40S", 48 * _GB),
    Gpu("A100, H100 with 80 GB", 80 * _GB),
    Gpu("RTX PRO 6000 Blackwell", 96 * _GB),
    Gpu("H200", 141 * _GB),
)


@dataclass(frozen=True, slots=True)
class GpuFit:
    """How weights go into a GPU's memory: `left_bytes` is for everything else, negative where they do not fit."""

    gpu: Gpu
    left_bytes: int


def gpu_fits(weight_bytes: int) -> tuple[GpuFit, ...]:
    """Each GPU, smallest memory first."""
    return tuple(GpuFit(gpu, gpu.memory_bytes - weight_bytes) for gpu in GPUS)
