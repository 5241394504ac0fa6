"""Expressions in one readable line, for provenance: "gather(base:lm_head.weight, rows of text/draft_ids)"."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from schemas.recipe.expanded import (
    Cast,
    Concat,
    DivisorConvention,
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


def render(op: Expression) -> str:
    """One line: tensors as source:name, every operator with its operands and what it was told."""
    match op:
        case Tensor(tensor, source):
            return f"{source}:{tensor}"
        case Concat(of, axis):
            return f"concat({_listed(of)}; axis {axis})"
        case Same(of):
            return f"same({_listed(of)})"
        case DraftIds(counts, width, domain, take, special):
            return f"draft_ids({take} of {domain} by {counts}, width {width}; special of {special})"
        case Fp8Row(codes, scales):
            return f"fp8_row(codes {render(codes)}; scales {render(scales)})"
        case Nvfp4():
            return _nvfp4(op)
        case _:
            return _unary(op)


def _unary(op: Slice | Reshape | Transpose | Gather | Cast | Reciprocal) -> str:
    of = render(op.of)
    match op:
        case Slice(_, axis, start, stop):
            return f"slice({of}; axis {axis}, {start}:{stop})"
        case Reshape(_, to):
            return f"reshape({of}; {list(to)})"
        case Transpose(_, axes):
            return f"transpose({of}; {list(axes)})"
        case Gather(_, rows):
            return f"gather({of}, rows of {rows})"
        case Cast(_, to, by):
            return f"cast({of}; {to} by {by})"
        case Reciprocal(_, by):
            return f"reciprocal({of}; {by})"
        case _:
            assert_never(op)


def _nvfp4(op: Nvfp4) -> str:
    factors = f"{op.convention} {_listed(op.divisors)}"
    if op.convention is DivisorConvention.MULTIPLIERS:
        factors = f"{factors}, reciprocal {op.reciprocal}"
    return f"nvfp4(codes {render(op.codes)}; scales {render(op.scales)}; {factors})"


def _listed(of: Iterable[Expression]) -> str:
    return ", ".join(map(render, of))
