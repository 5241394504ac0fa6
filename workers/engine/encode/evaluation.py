"""Reads any run of elements of a value into a buffer, without ever holding a whole tensor (recipe.md, values).

Every index operator is a map from positions of its result to positions of its operand, both in C order, so a value is
evaluated top-down: a run of the result becomes runs of the operand, down to positioned reads of source tensors. Runs
too short for a read each are cut out of a covering read, which is bounded by COVER_BYTES.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from math import gcd, prod
from typing import Protocol, assert_never

import numpy as np
import numpy.typing as npt

from schemas.errors import WordError
from schemas.recipe.expanded import (
    Cast,
    Concat,
    DraftIds,
    Fp8Row,
    Gather,
    Nvfp4,
    Reciprocal,
    ReciprocalRule,
    Reshape,
    Same,
    Slice,
    Tensor,
    Transpose,
)
from schemas.source_dtypes import ELEMENT_BYTES, SourceDtype
from workers import _native
from workers.engine.encode.faults import word_error
from workers.engine.encode.lifting import casts_below
from workers.engine.recipe.inference import Typed
from workers.engine.reciprocal import ReciprocalWord, reciprocal_word
from workers.engine.scratch import Bytes, Scratch
from workers.engine.trace import origin

COVER_BYTES = 4 << 20
"""Most that one covering read takes in."""
SHORT_BYTES = 16 << 10
"""Runs of at least this many bytes are read each on their own."""
MAX_WASTE = 32
"""A covering read takes in at most this many times what is wanted."""
SCATTERED_UNITS = 1 << 19
"""Most units whose positions are held at a time."""

Positions = npt.NDArray[np.int64]


class Inputs(Protocol):
    """Where the leaves of values come from."""

    def read_tensor(self, source: str, tensor: str, offset: int, out: Bytes) -> None:
        """Fills `out` with the tensor's data from byte `offset` on."""

    def rows_of(self, name: str, start: int, stop: int) -> Positions:
        """Elements start to stop of the I32 object of this name, as row numbers."""

    def draft_ids(self, op: DraftIds) -> npt.NDArray[np.int32]:
        """The selected ids, all of them."""


def width(node: Typed) -> int:
    """Bytes an element of a plain (not quantized) value."""
    if not isinstance(node.dtype, SourceDtype):
        raise TypeError(f"a {node.dtype} value has no single element width")
    return ELEMENT_BYTES[node.dtype]


class Evaluation:
    """Evaluates values on behalf of one object, with one thread's scratch buffers."""

    def __init__(self, name: str, inputs: Inputs, scratch: Scratch) -> None:
        self._name = name
        self._inputs = inputs
        self._scratch = scratch
        self.reciprocals: list[ReciprocalWord] = []
        """The reciprocals taken so far."""

    def read(self, node: Typed, start: int, out: Bytes, depth: int = 0) -> None:
        """Fills `out` with the elements of `node` from position `start` (C order) on.

        Raises WordError where a cast meets a value that it does not take, or a row number lies outside its operand.
        """
        if out.size == 0:
            return
        match node.op:
            case Tensor(tensor, source):
                self._inputs.read_tensor(source, tensor, start * width(node), out)
            case Reshape() | Same():
                self.read(node.of[0], start, out, depth)
            case Slice():
                self._slice(node, node.op, start, out, depth)
            case Concat():
                self._concat(node, node.op, start, out, depth)
            case Transpose():
                self._transpose(node, node.op, start, out, depth)
            case Gather():
                self._gather(node, node.op, start, out, depth)
            case Cast():
                self._cast(node, node.op, start, out, depth)
            case Reciprocal():
                out[:] = np.frombuffer(self.divisor(node.of[0], node.op.by, depth), np.uint8)
            case DraftIds():
                ids = self._inputs.draft_ids(node.op)
                out[:] = ids[start : start + out.size // 4].astype("<i4").view(np.uint8)
            case Nvfp4() | Fp8Row():
                raise TypeError("quantized values are copied plane by plane")
            case _:
                assert_never(node.op)

    def divisor(self, node: Typed, rule: ReciprocalRule, depth: int = 0) -> bytes:
        """The divisor that the one multiplier in `node` becomes, as a little-endian binary32 word. Raises WordError."""
        word = self._take(depth, width(node))
        self.read(node, 0, word, depth + 1)
        found = reciprocal_word(bytes(word), rule, self.where(node, 0))
        self.reciprocals.append(found)
        return found.divisor

    def where(self, node: Typed, position: int) -> str:
        """The object and, where one holds it, the source element behind a position of `node`."""
        found = origin(node, position, lambda name, at: int(self._inputs.rows_of(name, at, at + 1)[0]))
        return f"object {self._name}" if found is None else f"object {self._name}, source tensor {found}"

    def _take(self, depth: int, size: int) -> Bytes:
        return self._scratch.take(f"value{depth}", size)

    def _slice(self, node: Typed, op: Slice, start: int, out: Bytes, depth: int) -> None:
        child, size = node.of[0], width(node)
        inner = prod(node.shape[op.axis + 1 :])
        run, period, skip = node.shape[op.axis] * inner, child.shape[op.axis] * inner, op.start * inner
        covers = not casts_below(child)
        for outer, within, count, length, piece in _periods(start, out, run, period, size, covers=covers):
            if count > 1:
                cover = self._take(depth, count * period * size)
                self.read(child, outer * period, cover, depth + 1)
                wanted = cover.reshape(count, period * size)[:, skip * size : (skip + run) * size]
                piece.reshape(count, run * size)[:] = wanted
            else:
                self.read(child, outer * period + skip + within, piece[: length * size], depth + 1)

    def _concat(self, node: Typed, op: Concat, start: int, out: Bytes, depth: int) -> None:
        size = width(node)
        inner = prod(node.shape[op.axis + 1 :])
        runs = [child.shape[op.axis] * inner for child in node.of]
        ends = list(accumulate(runs))
        period = ends[-1]
        for outer, within, count, length, piece in _periods(start, out, period, period, size, covers=True):
            if count > 1:
                rows = piece.reshape(count, period * size)
                for child, run, end in zip(node.of, runs, ends, strict=True):
                    part = self._take(depth, count * run * size)
                    self.read(child, outer * run, part, depth + 1)
                    rows[:, (end - run) * size : end * size] = part.reshape(count, run * size)
                continue
            stop = within + length
            for child, run, end in zip(node.of, runs, ends, strict=True):
                first, last = max(within, end - run), min(stop, end)
                if first < last:
                    part = piece[(first - within) * size : (last - within) * size]
                    self.read(child, outer * run + first - (end - run), part, depth + 1)

    def _transpose(self, node: Typed, op: Transpose, start: int, out: Bytes, depth: int) -> None:
        child, size = node.of[0], width(node)
        kept = len(op.axes)
        while kept and op.axes[kept - 1] == kept - 1:
            kept -= 1
        inner = prod(node.shape[kept:])
        strides = [prod(child.shape[axis + 1 : kept]) for axis in op.axes[:kept]]
        for units, unit, piece in _units(start, out, inner, size):
            index = np.unravel_index(units * unit // inner, node.shape[:kept]) if kept else ()
            starts = np.zeros_like(units)
            for i, stride in zip(index, strides, strict=True):
                starts += i * stride
            self._scattered(child, starts * inner + units * unit % inner, unit, piece, depth)

    def _gather(self, node: Typed, op: Gather, start: int, out: Bytes, depth: int) -> None:
        child, size = node.of[0], width(node)
        inner = prod(node.shape[1:])
        for units, unit, piece in _units(start, out, inner, size):
            at = units * unit // inner
            first = int(at[0])
            rows = self._inputs.rows_of(op.rows, first, int(at[-1]) + 1)
            bad = np.flatnonzero((rows < 0) | (rows >= child.shape[0]))
            if bad.size:
                raise WordError(
                    f"object {self._name}",
                    expected=f"row numbers from 0 to {child.shape[0] - 1} in object {op.rows}",
                    found=f"{rows[bad[0]]} at position {first + bad[0]}",
                )
            self._scattered(child, rows[at - first] * inner + units * unit % inner, unit, piece, depth)

    def _scattered(self, child: Typed, starts: Positions, unit: int, out: Bytes, depth: int) -> None:
        """Reads units of `unit` elements that begin at `starts`, in that order, with few reads in ascending order."""
        size = width(child)
        order = np.argsort(starts, kind="stable")
        ascending = starts[order]
        rows = out.reshape(starts.size, unit * size)
        alone = casts_below(child)
        windows = ((i, i + 1) for i in range(starts.size)) if alone else _windows(ascending, unit, size)
        for first, last in windows:
            low, high = int(ascending[first]), int(ascending[last - 1]) + unit
            if last - first == 1:
                self.read(child, low, rows[order[first]], depth + 1)
                continue
            cover = self._take(depth, (high - low) * size)
            self.read(child, low, cover, depth + 1)
            runs = np.lib.stride_tricks.sliding_window_view(cover, unit * size)
            rows[order[first:last]] = runs[(ascending[first:last] - low) * size]

    def _cast(self, node: Typed, op: Cast, start: int, out: Bytes, depth: int) -> None:
        child = node.of[0]
        words = self._take(depth, out.size // width(node) * width(child))
        self.read(child, start, words, depth + 1)
        fault = _native.cast(words, str(child.dtype), str(op.to), str(op.by), out)
        if fault is not None:
            raise word_error(fault, self.where(child, start + fault.column))


def _periods(
    start: int, out: Bytes, run: int, period: int, size: int, *, covers: bool
) -> Iterator[tuple[int, int, int, int, Bytes]]:
    """Cuts a run of results into (outer, within, count, length, piece).

    Either `count` whole runs (within 0) from period `outer` on, few and short enough for one covering read, or (count
    1) `length` elements of run `outer` from `within` on.
    """
    position, end = start, start + out.size // size
    fits = COVER_BYTES // (period * size)
    covers = covers and fits > 1 and run * size < SHORT_BYTES and period <= MAX_WASTE * run
    while position < end:
        outer, within = divmod(position, run)
        whole = (end - position) // run if within == 0 and covers else 0
        count = max(1, min(whole, fits))
        length = count * run if count > 1 else min(run - within, end - position)
        at = (position - start) * size
        yield outer, within, count, length, out[at : at + length * size]
        position += length


def _units(start: int, out: Bytes, inner: int, size: int) -> Iterator[tuple[Positions, int, Bytes]]:
    """Cuts a run of results into units that lie whole within runs of `inner` elements: (unit numbers, unit, piece)."""
    total = out.size // size
    unit = gcd(inner, start, total)
    for first in range(0, total // unit, SCATTERED_UNITS):
        count = min(SCATTERED_UNITS, total // unit - first)
        numbers = np.arange(start // unit + first, start // unit + first + count, dtype=np.int64)
        yield numbers, unit, out[first * unit * size : (first + count) * unit * size]


def _windows(ascending: Positions, unit: int, size: int) -> Iterator[tuple[int, int]]:
    """Splits ascending unit starts into index ranges that one covering read each serves."""
    gaps = np.flatnonzero(np.diff(ascending) > unit + MAX_WASTE * max(unit, SHORT_BYTES // (4 * size)))
    breaks = np.append(gaps + 1, ascending.size)
    span = max(unit, COVER_BYTES // size)
    first = 0
    for stop in breaks:
        while first < stop:
            limit = ascending[first] + span - unit
            last = first + int(np.searchsorted(ascending[first:stop], limit, side="right"))
            yield first, last
            first = last
