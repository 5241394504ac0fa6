"""Which rows a verification covers (design.md, Verify).

A row is a run of elements along the last axis. `full` covers every row. `sample` covers both end rows of the object and
of every source tensor in it, and a share of the others drawn by a seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from math import gcd, prod

import numpy as np

from workers.engine.recipe.inference import Typed
from workers.engine.verify.location import Rows, granule, locate

SAMPLED_SHARE = 100
"""One row in this many is drawn, MIN_SAMPLED at least."""
MIN_SAMPLED = 64
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows [start, stop)."""

    start: int
    stop: int


def all_rows(rows: int) -> tuple[RowRange, ...]:
    return (RowRange(0, rows),)


def sampled_rows(name: str, rows: int, values: tuple[Typed, ...], row_lists: Rows, seed: int) -> tuple[RowRange, ...]:
    """The rows that `sample` covers, as ascending ranges that do not touch. `values` are the object's plain values with
    `rows` rows each."""
    chosen = {0, rows - 1}
    for value in values:
        chosen |= _end_rows(value, rows, row_lists)
    draw = random.Random(sha256(f"{seed} {name}".encode()).digest())  # noqa: S311 - a sample, not a secret
    chosen.update(draw.sample(range(rows), min(rows, max(MIN_SAMPLED, rows // SAMPLED_SHARE))))
    return tuple(_merged(sorted(chosen)))


def _end_rows(value: Typed, rows: int, row_lists: Rows) -> set[int]:
    """Rows of the value that hold the first and the last element used of each of its source tensors."""
    total = prod(value.shape)
    unit = gcd(granule(value), total // rows)
    lowest: dict[int, tuple[int, int]] = {}
    highest: dict[int, tuple[int, int]] = {}
    for first in range(0, total, _CHUNK * unit):
        positions = np.arange(first, min(first + _CHUNK * unit, total), unit, dtype=np.int64)
        numbers, found = locate(value, positions, row_lists)
        for number in np.unique(numbers).tolist():
            here = numbers == number
            low, high = np.argmin(found[here]), np.argmax(found[here])
            at_low = int(found[here][low]), int(positions[here][low])
            at_high = int(found[here][high]), int(positions[here][high])
            lowest[number] = min(lowest.get(number, at_low), at_low)
            highest[number] = max(highest.get(number, at_high), at_high)
    return {position // (total // rows) for _, position in (*lowest.values(), *highest.values())}


def _merged(rows: list[int]) -> Iterator[RowRange]:
    start = stop = rows[0]
    for row in rows:
        if row > stop:
            yield RowRange(start, stop)
            start = row
        stop = row + 1
    yield RowRange(start, stop)
