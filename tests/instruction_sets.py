"""The instruction sets that kernels are compiled for, and runs under one of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from workers import _native

RUNNABLE = tuple(name for name, runs in _native.instruction_sets().items() if runs)


@contextmanager
def using(name: str) -> Iterator[None]:
    """Kernels of this process use this instruction set."""
    before = _native.instruction_set()
    _native.use_instruction_set(name)
    try:
        yield
    finally:
        _native.use_instruction_set(before)
