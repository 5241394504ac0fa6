"""Measures what a piece of code allocates."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def traced_peak() -> Iterator[Callable[[], int]]:
    """Within, Python's allocations are traced; the function given says afterwards how many bytes were held at most."""
    peak = 0
    tracemalloc.start()
    try:
        yield lambda: peak
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
