"""Walking through expanded expressions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from schemas.recipe.expanded import (
    Cast,
    Concat,
    DraftIds,
    Expression,
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


def operands(op: Expression) -> tuple[Expression, ...]:
    """The expressions directly below an operator, in its order."""
    match op:
        case Tensor() | DraftIds():
            return ()
        case Slice(of) | Reshape(of) | Transpose(of) | Gather(of) | Cast(of) | Reciprocal(of):
            return (of,)
        case Concat(of) | Same(of):
            return of
        case Nvfp4(codes, scales, divisors):
            return (codes, scales, *divisors)
        case Fp8Row(codes, scales):
            return (codes, scales)
        case _:
            assert_never(op)


def walk_expression(op: Expression) -> Iterator[Expression]:
    """An expression and all below it, parents first."""
    yield op
    for operand in operands(op):
        yield from walk_expression(operand)
