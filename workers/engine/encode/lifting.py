"""Casts moved above the operators that select elements, so that a cast meets only what the value holds.

What is read around the wanted elements, to read in long runs, must not be cast: a value outside of a slice may be one
that the cast refuses.
"""

from __future__ import annotations

from dataclasses import replace

from schemas.recipe.expanded import Cast, Concat, Gather, Reshape, Same, Slice, Transpose
from workers.engine.recipe.inference import Typed


def lifted(node: Typed) -> Typed:
    """The same value, with every cast as far up as it goes; of `same`, which is compared apart, the first operand.

    Only parts of a `concat` that differ in their casts keep them below it.
    """
    if isinstance(node.op, Same):
        return lifted(node.of[0])
    of = tuple(lifted(child) for child in node.of)
    casts = {(child.op.to, child.op.by, child.of[0].dtype) for child in of if isinstance(child.op, Cast)}
    movable = isinstance(node.op, Slice | Reshape | Transpose | Gather | Concat)
    if not (movable and len(casts) == 1 and all(isinstance(child.op, Cast) for child in of)):
        return replace(node, of=of)
    before = tuple(child.of[0] for child in of)
    return Typed(of[0].op, node.shape, node.dtype, (lifted(Typed(node.op, node.shape, before[0].dtype, before)),))


def casts_below(node: Typed) -> bool:
    """Whether reading the value casts anything."""
    return isinstance(node.op, Cast) or any(casts_below(child) for child in node.of)
