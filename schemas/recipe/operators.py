"""Expressions as a document writes them: one model an operator of recipe.md (values: the operators)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, PlainValidator

from schemas.recipe.fields import (
    Closed,
    Faulty,
    Integer,
    Integers,
    IntegerSetMember,
    OptionalText,
    TextMember,
    Texts,
    describe,
    faulty,
    read_model,
    read_some,
)


def read_expression(value: object) -> ExpressionDocument | Faulty:
    """One operator, found by its key."""
    if not isinstance(value, dict):
        return faulty(f"expected an expression, found {describe(value)}")
    found = [key for key in OPERATORS if key in value]
    if len(found) > 1:
        return faulty(f"an expression has one operator, found {' and '.join(map(repr, found))}")
    if not found:
        shown = ", ".join(repr(key[:60]) for key in list(value)[:8]) or "nothing"
        return faulty(f"unknown operator: found {shown}; known: {', '.join(OPERATORS)}")
    return read_model(OPERATORS[found[0]], value, what=f"the operator {found[0]!r}")


def read_expressions(value: object) -> list[ExpressionDocument | Faulty] | Faulty:
    return read_some(value, read_expression, what="expressions")


def read_parts(value: object) -> list[ExpressionDocument | Faulty] | EachDocument | Faulty:
    """What `concat` joins: a list, or a loop that gives one."""
    if isinstance(value, dict):
        return read_model(EachDocument, value, what="the loop of 'concat'")
    return read_expressions(value)


def read_nvfp4(value: object) -> DivisorsDocument | MultipliersDocument | Faulty:
    """The two conventions of NVFP4's global scale, told apart by their member."""
    if not isinstance(value, dict):
        return faulty(
            f"expected an object with 'codes', 'scales' and 'divisors' or 'multipliers', found {describe(value)}"
        )
    conventions = [key for key in ("divisors", "multipliers") if key in value]
    if len(conventions) != 1:
        return faulty(f"'nvfp4' needs either 'divisors' or 'multipliers', found {'both' if conventions else 'neither'}")
    if conventions == ["divisors"]:
        return read_model(DivisorsDocument, value, what="'nvfp4' with 'divisors'")
    return read_model(MultipliersDocument, value, what="'nvfp4' with 'multipliers'")


def read_draft_ids(value: object) -> DraftIdsMembers | Faulty:
    return read_model(DraftIdsMembers, value, what="'draft_ids'")


def read_fp8_row(value: object) -> Fp8RowMembers | Faulty:
    return read_model(Fp8RowMembers, value, what="'fp8_row'")


ExpressionMember = Annotated["ExpressionDocument | Faulty", PlainValidator(read_expression)]
Expressions = Annotated["list[ExpressionDocument | Faulty] | Faulty", PlainValidator(read_expressions)]


class TensorDocument(Closed):
    tensor: TextMember
    source: OptionalText = None


class SliceDocument(Closed):
    of: ExpressionMember = Field(alias="slice")
    axis: Integer
    start: Integer = Field(alias="from")
    stop: Integer = Field(alias="to")


class ReshapeDocument(Closed):
    of: ExpressionMember = Field(alias="reshape")
    to: Integers


class TransposeDocument(Closed):
    of: ExpressionMember = Field(alias="transpose")
    axes: Integers


class EachDocument(Closed):
    variable: TextMember = Field(alias="for")
    over: IntegerSetMember = Field(alias="in")
    each: Expressions


class ConcatDocument(Closed):
    of: Annotated[list[ExpressionDocument | Faulty] | EachDocument | Faulty, PlainValidator(read_parts)] = Field(
        alias="concat"
    )
    axis: Integer


class GatherDocument(Closed):
    of: ExpressionMember = Field(alias="gather")
    rows: TextMember


class SameDocument(Closed):
    of: Expressions = Field(alias="same")


class CastDocument(Closed):
    of: ExpressionMember = Field(alias="cast")
    to: TextMember
    by: TextMember


class ReciprocalDocument(Closed):
    of: ExpressionMember = Field(alias="reciprocal")
    by: TextMember


class DraftIdsMembers(Closed):
    counts: TextMember
    width: Integer
    domain: Integer
    take: Integer
    special: TextMember


class DraftIdsDocument(Closed):
    members: Annotated[DraftIdsMembers | Faulty, PlainValidator(read_draft_ids)] = Field(alias="draft_ids")


class DivisorsDocument(Closed):
    codes: ExpressionMember
    scales: ExpressionMember
    divisors: Expressions


class MultipliersDocument(Closed):
    codes: ExpressionMember
    scales: ExpressionMember
    multipliers: Expressions
    reciprocal: OptionalText = None


class Nvfp4Document(Closed):
    members: Annotated[DivisorsDocument | MultipliersDocument | Faulty, PlainValidator(read_nvfp4)] = Field(
        alias="nvfp4"
    )


class Fp8RowMembers(Closed):
    codes: ExpressionMember
    scales: ExpressionMember


class Fp8RowDocument(Closed):
    members: Annotated[Fp8RowMembers | Faulty, PlainValidator(read_fp8_row)] = Field(alias="fp8_row")


class ValueDocument(Closed):
    """A named expression of `values`, put in place."""

    name: TextMember = Field(alias="value")
    texts: Texts = Field(alias="with", default_factory=dict)


UnaryDocument = SliceDocument | ReshapeDocument | TransposeDocument | GatherDocument | CastDocument | ReciprocalDocument
TopDocument = DraftIdsDocument | Nvfp4Document | Fp8RowDocument
OperatorDocument = TensorDocument | UnaryDocument | ConcatDocument | SameDocument | TopDocument
ExpressionDocument = OperatorDocument | ValueDocument

OPERATORS: Mapping[str, type[ExpressionDocument]] = {
    "tensor": TensorDocument,
    "slice": SliceDocument,
    "reshape": ReshapeDocument,
    "transpose": TransposeDocument,
    "concat": ConcatDocument,
    "gather": GatherDocument,
    "same": SameDocument,
    "cast": CastDocument,
    "reciprocal": ReciprocalDocument,
    "draft_ids": DraftIdsDocument,
    "nvfp4": Nvfp4Document,
    "fp8_row": Fp8RowDocument,
    "value": ValueDocument,
}
