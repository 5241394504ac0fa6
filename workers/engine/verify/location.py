"""Where the elements of a value lie in the sources, found from the value's end backwards.

The verifier's own reading of the index operators of recipe.md, by another method than the writer's: a value is a set
of leaf paths (a source tensor and the casts above it), and for many positions at once this tells each one's path and
position in the tensor. It works on granules: the longest runs that every operator on the way keeps together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd, prod
from typing import assert_never

import numpy as np
import numpy.typing as npt

from schemas.recipe.expanded import (
    Cast,
    Concat,
    DraftIds,
    Fp8Row,
    Gather,
    Nvfp4,
    Reciprocal,
    Reshape,
    Same,
    Slice,
    Tensor,
    Transpose,
)
from workers.engine.recipe.inference import Typed

Positions = npt.NDArray[np.int64]
Rows = Callable[[str], Positions]
"""The row numbers that an I32 object of the recipe holds, all of them."""


@dataclass(frozen=True, slots=True)
class Path:
    """One leaf of a value, with the operators that change its words, innermost first."""

    leaf: Typed
    changes: tuple[Typed, ...]


def paths(node: Typed) -> tuple[Path, ...]:
    """The leaves of a value in the order in which its operators name them."""
    match node.op:
        case Tensor() | DraftIds():
            return (Path(node, ()),)
        case Cast() | Reciprocal():
            return tuple(Path(path.leaf, (*path.changes, node)) for path in paths(node.of[0]))
        case Concat():
            return tuple(path for child in node.of for path in paths(child))
        case Reshape() | Slice() | Transpose() | Gather() | Same():
            return paths(node.of[0])
        case Nvfp4() | Fp8Row():
            raise TypeError("quantized values are verified plane by plane")
        case _:
            assert_never(node.op)


def granule(node: Typed) -> int:
    """Elements that every aligned granule keeps together, in order, in one leaf; the size of a value kept whole."""
    return _granule(node) or prod(node.shape)


def _granule(node: Typed) -> int:
    """As `granule`, with 0 for "any length"."""
    match node.op:
        case Tensor() | DraftIds() | Reciprocal():
            return 0
        case Cast() | Reshape() | Same():
            return _granule(node.of[0])
        case Slice(_, axis, start, _):
            child = node.of[0]
            inner = prod(child.shape[axis + 1 :])
            below = _granule(child)
            run = node.shape[axis] * inner
            return gcd(run, child.shape[axis] * inner, start * inner, below) if below else run
        case Concat(_, axis):
            inner = prod(node.shape[axis + 1 :])
            return gcd(*(child.shape[axis] * inner for child in node.of), *(_granule(child) for child in node.of))
        case Gather():
            return gcd(prod(node.shape[1:]), _granule(node.of[0]))
        case Transpose(_, axes):
            fixed = prod(node.shape[axis] for axis in _fixed_axes(axes))
            return gcd(fixed, _granule(node.of[0]))
        case Nvfp4() | Fp8Row():
            raise TypeError("quantized values are verified plane by plane")
        case _:
            assert_never(node.op)


def locate(node: Typed, positions: Positions, rows: Rows) -> tuple[Positions, Positions]:
    """Path numbers (as `paths` orders them) and positions in the leaves, for positions that are multiples of the
    granule."""
    match node.op:
        case Tensor() | DraftIds():
            return np.zeros_like(positions), positions
        case Cast() | Reshape() | Same() | Reciprocal():
            return locate(node.of[0], positions, rows)
        case Slice(_, axis, start, _):
            before, at, after = _split(positions, node.shape, axis)
            return locate(node.of[0], _join(before, at + start, after, node.of[0].shape, axis), rows)
        case Gather(_, name):
            at, after = np.divmod(positions, prod(node.shape[1:]))
            return locate(node.of[0], rows(name)[at] * prod(node.shape[1:]) + after, rows)
        case Transpose(_, axes):
            source_shape = node.of[0].shape
            index = np.unravel_index(positions, node.shape) if node.shape else ()
            moved = [index[axes.index(axis)] for axis in range(len(axes))]
            flat = np.ravel_multi_index(moved, source_shape) if moved else positions
            return locate(node.of[0], np.asarray(flat, dtype=np.int64), rows)
        case Concat():
            return _locate_concat(node, node.op, positions, rows)
        case Nvfp4() | Fp8Row():
            raise TypeError("quantized values are verified plane by plane")
        case _:
            assert_never(node.op)


def _locate_concat(node: Typed, op: Concat, positions: Positions, rows: Rows) -> tuple[Positions, Positions]:
    before, at, after = _split(positions, node.shape, op.axis)
    number, found = np.empty_like(positions), np.empty_like(positions)
    first_path, low = 0, 0
    for child in node.of:
        high = low + child.shape[op.axis]
        here = (low <= at) & (at < high)
        inside = _join(before[here], at[here] - low, after[here], child.shape, op.axis)
        child_number, found[here] = locate(child, inside, rows)
        number[here] = child_number + first_path
        first_path += len(paths(child))
        low = high
    return number, found


def _split(positions: Positions, shape: tuple[int, ...], axis: int) -> tuple[Positions, Positions, Positions]:
    """Positions as (all axes before, this axis, all axes after), each flattened."""
    rest, after = np.divmod(positions, prod(shape[axis + 1 :]))
    before, at = np.divmod(rest, shape[axis])
    return before, at, after


def _join(before: Positions, at: Positions, after: Positions, shape: tuple[int, ...], axis: int) -> Positions:
    return (before * shape[axis] + at) * prod(shape[axis + 1 :]) + after


def _fixed_axes(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The trailing axes that a permutation leaves in place."""
    last = len(axes)
    while last and axes[last - 1] == last - 1:
        last -= 1
    return axes[last:]
