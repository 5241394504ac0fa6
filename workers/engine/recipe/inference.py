"""Shapes and dtypes of every value of a recipe, from tensor headers alone: recipe.md (operators, encode)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from schemas.errors import Fault, PlanError
from schemas.recipe.expanded import (
    Cast,
    Concat,
    DraftIds,
    ExpandedObject,
    ExpandedRecipe,
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
from schemas.registry import EncoderProfile, WordOrigin
from schemas.source_dtypes import SourceDtype
from workers.engine.linear_storage import PARTS
from workers.engine.recipe.operands import operands
from workers.engine.recipe.operator_types import (
    FORMAT_DTYPE,
    Mismatch,
    Outcome,
    ValueDtype,
    ValueType,
    concat_type,
    draft_ids_type,
    fp8_row_type,
    gather_type,
    nvfp4_type,
    same_type,
    unary_type,
)

_ENCODED_DTYPES = (SourceDtype.BF16, SourceDtype.F16, SourceDtype.F32)
_KNOWN = {dtype.value: dtype for dtype in SourceDtype}
_NAMED_TENSORS = 4
"""How many of a value's tensors a fault names."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """A source tensor as its header describes it. `dtype` is None where the name is not known by size."""

    dtype_name: str
    shape: tuple[int, ...]

    @property
    def dtype(self) -> SourceDtype | None:
        return _KNOWN.get(self.dtype_name)

    def __str__(self) -> str:
        return f"{self.dtype_name} {list(self.shape)}"


TensorTypes = Callable[[str, str], TensorType | None]
"""(source, tensor) to its type, None where the source has no such tensor."""


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression with the shape and dtype of its value, and its operands likewise.

    `dtype` is a SourceDtype, but Format.NVFP4 or Format.FP8_E4M3FN_ROW_BF16S for the two operators of already
    quantized words. `of` holds operands in the order of the operator: for Nvfp4 codes, scales, then each divisor or
    multiplier; for Fp8Row codes, scales; none for Tensor and DraftIds.
    """

    op: Expression
    shape: tuple[int, ...]
    dtype: ValueDtype
    of: tuple[Typed, ...]


@dataclass(frozen=True, slots=True)
class TypedObject:
    """An object with its value, and those that must equal it, typed."""

    spec: ExpandedObject
    value: Typed
    equals: tuple[Typed, ...]


def infer_recipe(recipe: ExpandedRecipe, tensors: TensorTypes) -> tuple[TypedObject, ...]:
    """Types every object of the recipe, in its order.

    Raises PlanError with every fault at once, each at the `at` of its object.
    """
    shapes = {one.name: one.shape for one in recipe.objects}
    faults: list[Fault] = []
    typed = [_ObjectInference(one, shapes, tensors, faults).infer() for one in recipe.objects]
    if faults:
        raise PlanError(f"recipe {recipe.id}", faults, expected="values that the source tensors can give")
    return tuple(one for one in typed if one is not None)


@dataclass(frozen=True, slots=True)
class _ObjectInference:
    spec: ExpandedObject
    shapes: dict[str, tuple[int, ...]]
    tensors: TensorTypes
    faults: list[Fault]

    def infer(self) -> TypedObject | None:
        value = self._value(self.spec.value)
        others = [self._value(other) for other in self.spec.equals]
        if value is not None:
            self._check_value(value)
            for index, other in enumerate(others):
                if other is not None and (other.shape, other.dtype) != (value.shape, value.dtype):
                    expected = f"{ValueType(value.shape, value.dtype)}, as the value"
                    self._fault(f"equals, place {index}", expected, f"{ValueType(other.shape, other.dtype)}", [other])
        equals = tuple(other for other in others if other is not None)
        return None if value is None or len(equals) != len(others) else TypedObject(self.spec, value, equals)

    def _fault(self, what: str, expected: str, found: str, of: Sequence[Typed]) -> None:
        message = f"object {self.spec.name!r}: {what}: expected {expected}, found {found}{_made_of(of)}"
        self.faults.append(Fault(self.spec.at, message))

    def _check_value(self, value: Typed) -> None:
        """Of the whole value: the object's shape, and a dtype that `encode` takes."""
        spec = self.spec
        if value.shape != spec.shape:
            self._fault("value", f"the object's shape {list(spec.shape)}", f"{list(value.shape)}", [value])
        match spec.encode:
            case WordOrigin.PRESERVE:
                taken: tuple[ValueDtype, ...] = (FORMAT_DTYPE[spec.format],)
            case WordOrigin.COPY:
                taken = (spec.format,)
            case EncoderProfile():
                taken = _ENCODED_DTYPES
            case _:
                assert_never(spec.encode)
        if value.dtype not in taken:
            expected = f"{' or '.join(taken)} for {spec.format} by {spec.encode}"
            self._fault("value", expected, f"{value.dtype}", [value])

    def _value(self, op: Expression) -> Typed | None:
        of = tuple(self._value(operand) for operand in operands(op))
        known = tuple(operand for operand in of if operand is not None)
        if len(known) != len(of):
            return None
        match outcome := self._outcome(op, [ValueType(operand.shape, operand.dtype) for operand in known]):
            case ValueType(shape, dtype):
                return Typed(op, shape, dtype, known)
            case Mismatch(expected, found):
                self._fault(OPERATOR_NAMES[type(op)], expected, found, known)
                return None
            case _:
                assert_never(outcome)

    def _outcome(self, op: Expression, of: list[ValueType]) -> Outcome:
        outcome: Outcome
        match op:
            case Tensor():
                outcome = self._tensor(op)
            case DraftIds():
                outcome = draft_ids_type(op)
            case Concat():
                outcome = concat_type(op, of)
            case Same():
                outcome = same_type(op, of)
            case Gather():
                outcome = gather_type(op, of[0], self.shapes[op.rows])
            case Nvfp4():
                outcome = nvfp4_type(op, of[0], of[1], of[2:])
            case Fp8Row():
                outcome = fp8_row_type(op, of[0], of[1])
            case _:
                outcome = unary_type(op, of[0])
        return outcome

    def _tensor(self, op: Tensor) -> Outcome:
        found = self.tensors(op.source, op.tensor)
        if found is None:
            return Mismatch(f"{op.tensor!r} in source {op.source!r}", f"no tensor of that name{self._others(op)}")
        if found.dtype is None:
            return Mismatch(
                f"a dtype that an operator takes for {op.tensor!r} of {op.source!r}", repr(found.dtype_name)
            )
        return ValueType(found.shape, found.dtype)

    def _others(self, op: Tensor) -> str:
        """Of a missing part of a linear those that are there: they tell how else it is stored."""
        linear = op.tensor.rpartition(".")[0]
        others = {part: self.tensors(op.source, f"{linear}.{part}") for part in PARTS}
        there = [f"{part} {found}" for part, found in others.items() if found is not None]
        return f", but of {linear} {', '.join(there)}" if there else ""


def _made_of(of: Sequence[Typed]) -> str:
    """The source tensors of values, each once, with their types."""
    tensors = list(dict.fromkeys(tensor for value in of for tensor in _tensors(value)))
    rest = f" and {len(tensors) - _NAMED_TENSORS} more" if len(tensors) > _NAMED_TENSORS else ""
    return f", made of {', '.join(tensors[:_NAMED_TENSORS])}{rest}" if tensors else ""


def _tensors(value: Typed) -> Iterator[str]:
    if isinstance(value.op, Tensor):
        yield f"{value.op.source}:{value.op.tensor} {ValueType(value.shape, value.dtype)}"
    for operand in value.of:
        yield from _tensors(operand)


OPERATOR_NAMES: dict[type[Expression], str] = {
    Tensor: "tensor",
    Slice: "slice",
    Reshape: "reshape",
    Transpose: "transpose",
    Concat: "concat",
    Gather: "gather",
    Same: "same",
    Cast: "cast",
    Reciprocal: "reciprocal",
    DraftIds: "draft_ids",
    Nvfp4: "nvfp4",
    Fp8Row: "fp8_row",
}
