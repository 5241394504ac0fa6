"""Which source element one element of a value comes from: for messages, one element at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import assert_never

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

RowAt = Callable[[str, int], int]
"""(object, position) to the row number that an I32 object holds there."""


def coordinate(shape: tuple[int, ...], position: int) -> tuple[int, ...]:
    """The index of the element at this position in C order."""
    index: list[int] = []
    for extent in reversed(shape):
        position, i = divmod(position, extent)
        index.append(i)
    return tuple(reversed(index))


@dataclass(frozen=True, slots=True)
class Origin:
    """One element of a source tensor."""

    source: str
    tensor: str
    index: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.source}:{self.tensor}{list(self.index)}"


def origin(node: Typed, position: int, row_at: RowAt) -> Origin | None:
    """Where the element at `position` (C order) of `node` comes from; None for values that no tensor holds."""
    while True:
        match node.op:
            case Tensor(tensor, source):
                return Origin(source, tensor, coordinate(node.shape, position))
            case Reshape() | Cast() | Reciprocal() | Same():
                node = node.of[0]
            case Slice(_, axis, start, _):
                inner = prod(node.shape[axis + 1 :])
                outer, within = divmod(position, node.shape[axis] * inner)
                position = outer * node.of[0].shape[axis] * inner + start * inner + within
                node = node.of[0]
            case Transpose(_, axes):
                index = coordinate(node.shape, position)
                node = node.of[0]
                moved = {axis: index[i] for i, axis in enumerate(axes)}
                position = 0
                for axis, extent in enumerate(node.shape):
                    position = position * extent + moved[axis]
            case Concat(_, axis):
                inner = prod(node.shape[axis + 1 :])
                outer, within = divmod(position, node.shape[axis] * inner)
                for child in node.of:
                    run = child.shape[axis] * inner
                    if within < run:
                        node, position = child, outer * run + within
                        break
                    within -= run
            case Gather(_, rows):
                row, within = divmod(position, prod(node.shape[1:]))
                position = row_at(rows, row) * prod(node.shape[1:]) + within
                node = node.of[0]
            case DraftIds() | Nvfp4() | Fp8Row():
                return None
            case _:
                assert_never(node.op)
