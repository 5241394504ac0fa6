"""Random values over small tensors, with what numpy says that they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from schemas.recipe.expanded import Concat, DraftIds, Gather, Reshape, Same, Slice, Tensor, Transpose
from schemas.source_dtypes import SourceDtype
from workers.engine.recipe.inference import Typed
from workers.engine.scratch import Bytes

Array = npt.NDArray[np.uint16]


@dataclass
class World:
    """The tensors and row lists that a value draws on."""

    tensors: dict[str, Array] = field(default_factory=dict)
    lists: dict[str, npt.NDArray[np.int64]] = field(default_factory=dict)

    def leaf(self, shape: tuple[int, ...]) -> tuple[Typed, Array]:
        name = f"t{len(self.tensors)}"
        seed = np.random.default_rng(len(self.tensors))
        array = seed.integers(0, 2**16, size=shape, dtype=np.uint16)
        self.tensors[name] = array
        return Typed(Tensor(name, "base"), shape, SourceDtype.BF16, ()), array

    def read_tensor(self, source: str, tensor: str, offset: int, out: Bytes) -> None:
        assert source == "base"
        out[:] = self.tensors[tensor].reshape(-1).view(np.uint8)[offset : offset + out.size]

    read = read_tensor

    def rows_of(self, name: str, start: int, stop: int) -> npt.NDArray[np.int64]:
        return self.lists[name][start:stop]

    def rows(self, name: str) -> npt.NDArray[np.int64]:
        return self.lists[name]

    def draft_ids(self, op: DraftIds) -> npt.NDArray[np.int32]:
        raise AssertionError(op)


@st.composite
def values(draw: st.DrawFn, depth: int = 4) -> tuple[World, Typed, Array]:
    """A world, a value in it, and its elements."""
    world = World()
    node, array = draw(_values(world, depth))
    return world, node, array


@st.composite
def _values(draw: st.DrawFn, world: World, depth: int) -> tuple[Typed, Array]:
    kind = draw(st.sampled_from(["leaf", "reshape", "same", *_AXIS_OPERATORS] if depth else ["leaf"]))
    if kind == "leaf":
        rank = draw(st.integers(1, 4))
        return world.leaf(tuple(draw(st.integers(1, 6)) for _ in range(rank)))
    child, array = draw(_values(world, depth - 1))
    if kind == "reshape":
        shape = draw(_factorings(array.size))
        return Typed(Reshape(child.op, shape), shape, child.dtype, (child,)), array.reshape(shape)
    if kind == "same" or array.ndim == 0:
        return Typed(Same((child.op, child.op)), child.shape, child.dtype, (child, child)), array
    return draw(_AXIS_OPERATORS[kind](world, child, array))


@st.composite
def _slices(draw: st.DrawFn, _world: World, child: Typed, array: Array) -> tuple[Typed, Array]:
    axis = draw(st.integers(0, array.ndim - 1))
    start = draw(st.integers(0, array.shape[axis] - 1))
    stop = draw(st.integers(start + 1, array.shape[axis]))
    cut = array[(slice(None),) * axis + (slice(start, stop),)]
    return Typed(Slice(child.op, axis, start, stop), cut.shape, child.dtype, (child,)), cut


@st.composite
def _transposes(draw: st.DrawFn, _world: World, child: Typed, array: Array) -> tuple[Typed, Array]:
    axes = tuple(draw(st.permutations(range(array.ndim))))
    turned = array.transpose(axes)
    return Typed(Transpose(child.op, axes), turned.shape, child.dtype, (child,)), turned


@st.composite
def _gathers(draw: st.DrawFn, world: World, child: Typed, array: Array) -> tuple[Typed, Array]:
    rows = np.array(draw(st.lists(st.integers(0, array.shape[0] - 1), min_size=1, max_size=8)), dtype=np.int64)
    name = f"rows{len(world.lists)}"
    world.lists[name] = rows
    picked = array[rows]
    return Typed(Gather(child.op, name), picked.shape, child.dtype, (child,)), picked


@st.composite
def _concats(draw: st.DrawFn, world: World, child: Typed, array: Array) -> tuple[Typed, Array]:
    axis = draw(st.integers(0, array.ndim - 1))
    parts, arrays = [child], [array]
    for _ in range(draw(st.integers(0, 3))):
        extent = draw(st.integers(1, 5))
        part, other = world.leaf((*array.shape[:axis], extent, *array.shape[axis + 1 :]))
        parts.append(part)
        arrays.append(other)
    joined = np.concatenate(arrays, axis)
    return Typed(Concat(tuple(p.op for p in parts), axis), joined.shape, child.dtype, tuple(parts)), joined


_AXIS_OPERATORS = {"slice": _slices, "transpose": _transposes, "concat": _concats, "gather": _gathers}


@st.composite
def _factorings(draw: st.DrawFn, size: int) -> tuple[int, ...]:
    shape: list[int] = []
    while size > 1 and len(shape) < 4:
        factor = draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0]))
        shape.append(factor)
        size //= factor
    shape.append(size)
    if prod(shape) == 1 and draw(st.booleans()):
        return ()
    return tuple(shape)
