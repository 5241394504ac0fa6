"""Holds back the garbage collector while very many objects are made that all stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collection() -> Iterator[None]:
    """No search for cycles in the block: each would go through all that was made so far, and find none.

    Where blocks of several threads overlap, collection begins again with the end of the one that stopped it.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
