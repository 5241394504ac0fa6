"""Shape and dtype of each operator's result: recipe.md (values: the operators), one function an operator.

Each takes the operator and the types of its operands and gives the type of the result, or a `Mismatch`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import assert_never

from schemas.recipe.expanded import (
    Cast,
    CastRule,
    Concat,
    DraftIds,
    Fp8Row,
    Gather,
    Nvfp4,
    Reciprocal,
    Reshape,
    Same,
    Slice,
    Transpose,
)
from schemas.registry import Format
from schemas.source_dtypes import SourceDtype

ValueDtype = SourceDtype | Format
"""Of a plain value its SourceDtype; of an already quantized one Format.NVFP4 or Format.FP8_E4M3FN_ROW_BF16S."""


@dataclass(frozen=True, slots=True)
class ValueType:
    """Shape and dtype of a value."""

    shape: tuple[int, ...]
    dtype: ValueDtype

    def __str__(self) -> str:
        return f"{self.dtype} {list(self.shape)}"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """What an operator expected and what it found."""

    expected: str
    found: str


Outcome = ValueType | Mismatch
Operands = Sequence[ValueType]

FORMAT_DTYPE: Mapping[Format, SourceDtype] = {
    Format.FP32: SourceDtype.F32,
    Format.BF16: SourceDtype.BF16,
    Format.I32: SourceDtype.I32,
}
"""The dtype that is a direct format."""

CASTS: Mapping[tuple[Format, CastRule], tuple[SourceDtype, ...]] = {
    (Format.FP32, CastRule.EXACT): (SourceDtype.BF16, SourceDtype.F16),
    (Format.I32, CastRule.EXACT): (SourceDtype.I8, SourceDtype.I16),
    (Format.BF16, CastRule.EXACT): (SourceDtype.F32, SourceDtype.F16),
    (Format.BF16, CastRule.RNE): (SourceDtype.F32, SourceDtype.F16),
    (Format.I32, CastRule.CHECKED): (
        SourceDtype.I64,
        SourceDtype.U8,
        SourceDtype.U16,
        SourceDtype.U32,
        SourceDtype.U64,
        SourceDtype.F16,
        SourceDtype.BF16,
        SourceDtype.F32,
        SourceDtype.F64,
    ),
}
"""What each cast takes."""


def unary_type(op: Slice | Reshape | Transpose | Cast | Reciprocal, of: ValueType) -> Outcome:
    """The operators that take one value and nothing else."""
    match op:
        case Slice():
            return slice_type(op, of)
        case Reshape():
            return reshape_type(op, of)
        case Transpose():
            return transpose_type(op, of)
        case Cast():
            return cast_type(op, of)
        case Reciprocal():
            return reciprocal_type(op, of)
        case _:
            assert_never(op)


def slice_type(op: Slice, of: ValueType) -> Outcome:
    rank = len(of.shape)
    if op.axis >= rank:
        return Mismatch(f"an axis below rank {rank}", f"axis {op.axis} of {list(of.shape)}")
    if op.stop > of.shape[op.axis]:
        return Mismatch(f"rows within 0:{of.shape[op.axis]} of axis {op.axis}", f"{op.start}:{op.stop}")
    return ValueType((*of.shape[: op.axis], op.stop - op.start, *of.shape[op.axis + 1 :]), of.dtype)


def reshape_type(op: Reshape, of: ValueType) -> Outcome:
    if prod(op.to) != prod(of.shape):
        return Mismatch(
            f"{prod(of.shape)} elements, as {list(of.shape)} has", f"{prod(op.to)} elements in {list(op.to)}"
        )
    return ValueType(op.to, of.dtype)


def transpose_type(op: Transpose, of: ValueType) -> Outcome:
    if len(op.axes) != len(of.shape):
        return Mismatch(f"a permutation of the {len(of.shape)} axes of {list(of.shape)}", f"{list(op.axes)}")
    return ValueType(tuple(of.shape[axis] for axis in op.axes), of.dtype)


def concat_type(op: Concat, of: Operands) -> Outcome:
    first = of[0]
    if op.axis >= len(first.shape):
        return Mismatch(f"an axis below rank {len(first.shape)}", f"axis {op.axis} of {list(first.shape)}")
    for index, part in enumerate(of):
        if part.dtype is not first.dtype:
            return Mismatch(f"the dtype of the first part, {first.dtype}", f"{part.dtype} in part {index}")
        if len(part.shape) != len(first.shape) or _without(part.shape, op.axis) != _without(first.shape, op.axis):
            expected = f"the extents of the first part, {list(first.shape)}, but for axis {op.axis}"
            return Mismatch(expected, f"{list(part.shape)} in part {index}")
    joined = sum(part.shape[op.axis] for part in of)
    return ValueType((*first.shape[: op.axis], joined, *first.shape[op.axis + 1 :]), first.dtype)


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], -1, *shape[axis + 1 :])


def gather_type(op: Gather, of: ValueType, rows: tuple[int, ...]) -> Outcome:
    """`rows` is the shape of the I32 object that lists the rows."""
    if len(rows) != 1:
        return Mismatch(f"rows of rank 1 in {op.rows!r}", f"shape {list(rows)}")
    if not of.shape:
        return Mismatch("a value with an axis 0", "a scalar")
    return ValueType((rows[0], *of.shape[1:]), of.dtype)


def same_type(_op: Same, of: Operands) -> Outcome:
    for index, other in enumerate(of):
        if other != of[0]:
            return Mismatch(f"{of[0]}, as the first", f"{other} in place {index}")
    return of[0]


def cast_type(op: Cast, of: ValueType) -> Outcome:
    taken = CASTS[op.to, op.by]
    if of.dtype not in taken:
        return Mismatch(f"{' or '.join(taken)} for a cast to {op.to} by {op.by}", f"{of.dtype}")
    return ValueType(of.shape, FORMAT_DTYPE[op.to])


def reciprocal_type(_op: Reciprocal, of: ValueType) -> Outcome:
    if of.dtype is not SourceDtype.F32 or prod(of.shape) != 1:
        return Mismatch("one F32 element", f"{of}")
    return of


def draft_ids_type(op: DraftIds) -> ValueType:
    return ValueType((op.take,), SourceDtype.I32)


def nvfp4_type(op: Nvfp4, codes: ValueType, scales: ValueType, factors: Operands) -> Outcome:
    if codes.dtype is not SourceDtype.U8 or len(codes.shape) != 2:
        return Mismatch("codes U8 [N,K/2]", f"codes {codes}")
    n, k = codes.shape[0], 2 * codes.shape[1]
    if (
        scales.dtype is not SourceDtype.F8_E4M3
        or len(scales.shape) != 2
        or (scales.shape[0], 16 * scales.shape[1])
        != (
            n,
            k,
        )
    ):
        return Mismatch(f"scales F8_E4M3 [N,K/16] for codes {list(codes.shape)}", f"scales {scales}")
    for index, factor in enumerate(factors):
        if factor.dtype is not SourceDtype.F32 or factor.shape not in ((), (1,)):
            return Mismatch(f"{op.convention} F32 of shape [] or [1]", f"{factor} in place {index}")
    return ValueType((n, k), Format.NVFP4)


def fp8_row_type(_op: Fp8Row, codes: ValueType, scales: ValueType) -> Outcome:
    if codes.dtype is not SourceDtype.F8_E4M3 or len(codes.shape) != 2:
        return Mismatch("codes F8_E4M3 [N,K]", f"codes {codes}")
    n = codes.shape[0]
    if scales.dtype is not SourceDtype.BF16 or scales.shape not in ((n,), (n, 1)):
        return Mismatch(f"scales BF16 [{n}] or [{n}, 1]", f"scales {scales}")
    return ValueType(codes.shape, Format.FP8_E4M3FN_ROW_BF16S)
