"""Which device a job asks for, and which workers serve it: one queue for each device (design.md, Where it runs)."""

from __future__ import annotations

from typing import Literal

CPU = "cpu"
CUDA = "cuda"
QUEUES = (CPU, CUDA)

WorkerDevice = Literal["cpu", "cuda"]
JOB_DEVICES = ("auto", CPU, CUDA)
"""What a job may ask for; `auto` takes whichever worker comes first."""


def queue_of(device: str) -> str:
    """The queue of jobs that ask for this device."""
    return CUDA if device == CUDA else CPU


def queues_of(worker: str) -> tuple[str, ...]:
    """The queues that a worker takes jobs from. One with a GPU serves them all."""
    return (CUDA, CPU) if worker == CUDA else (CPU,)


def served_by(worker: WorkerDevice) -> tuple[str, ...]:
    """The job devices that a worker serves."""
    return tuple(device for device in JOB_DEVICES if queue_of(device) in queues_of(worker))
