"""Entries of `objects` and of templates as a document writes them: recipe.md (objects)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PlainValidator

from schemas.recipe.fields import (
    Closed,
    Conditions,
    Faulty,
    Integers,
    IntegerSetMember,
    OptionalText,
    TextMember,
    Texts,
    describe,
    faulty,
    read_list,
    read_model,
)
from schemas.recipe.operators import ExpressionDocument, ExpressionMember, read_expression


def read_entry(value: object) -> EntryDocument | Faulty:
    """An object, a loop or the use of a template, told apart by `name`, `for` and `use`."""
    if not isinstance(value, dict):
        return faulty(f"expected an entry with 'name', 'for' or 'use', found {describe(value)}")
    found = [key for key in ("name", "for", "use") if key in value]
    if len(found) != 1:
        shown = " and ".join(map(repr, found)) or ", ".join(repr(key[:60]) for key in list(value)[:8]) or "nothing"
        return faulty(f"an entry has one of 'name' (an object), 'for' (a loop) or 'use' (a template), found {shown}")
    match found[0]:
        case "name":
            return read_model(ObjectDocument, value, what="an object")
        case "for":
            return read_model(LoopDocument, value, what="a loop")
        case _:
            return read_model(UseDocument, value, what="the use of a template")


def read_entries(value: object) -> list[EntryDocument | Faulty] | Faulty:
    return read_list(value, read_entry, what="entries")


def read_equals(value: object) -> list[ExpressionDocument | Faulty] | Faulty:
    return read_list(value, read_expression, what="expressions")


Entries = Annotated["list[EntryDocument | Faulty] | Faulty", PlainValidator(read_entries)]


class EntryBase(Closed):
    """`when`: each named variable is in its set. `unless`: none is."""

    when: Conditions = Field(default_factory=dict)
    unless: Conditions = Field(default_factory=dict)


class ObjectDocument(EntryBase):
    name: TextMember
    shape: Integers
    format: TextMember
    layout: OptionalText = None
    encode: OptionalText = None
    nonfinite: OptionalText = None
    require: OptionalText = None
    value: ExpressionMember
    equals: Annotated[list[ExpressionDocument | Faulty] | Faulty, PlainValidator(read_equals)] = Field(
        default_factory=list
    )


class LoopDocument(EntryBase):
    variable: TextMember = Field(alias="for")
    over: IntegerSetMember = Field(alias="in")
    texts: Texts = Field(alias="with", default_factory=dict)
    objects: Entries


class UseDocument(EntryBase):
    template: TextMember = Field(alias="use")
    texts: Texts = Field(alias="with", default_factory=dict)


EntryDocument = ObjectDocument | LoopDocument | UseDocument
