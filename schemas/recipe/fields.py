"""Reading the members of a recipe document without losing sight of its other faults.

Each reader turns plain JSON data into its typed form, or into a `Faulty` that stands in its place and says what is
wrong there. Reading therefore never stops at the first fault, and nothing that a union tried in vain reaches the user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError

from schemas.errors import Fault
from schemas.recipe.arithmetic import NAME, Formula, parse_formula
from schemas.recipe.limits import INTEGER_MAX, NAME_BYTES, SET_INTEGERS
from schemas.recipe.pointer import NodePath, escape, pointer
from schemas.recipe.text import Text, parse_text

Value = TypeVar("Value")
Model = TypeVar("Model", bound=BaseModel)
Reader = Callable[[object], object]


class Closed(BaseModel):
    """Base of the document's parts: frozen, and closed to members that are not named."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True)


@dataclass(frozen=True, slots=True)
class Faulty:
    """Stands where the document holds something unusable; `faults` point from there inwards."""

    faults: tuple[Fault, ...]


def faulty(message: str) -> Faulty:
    """A single fault of the node itself."""
    return Faulty((Fault("", message),))


def describe(value: object) -> str:
    """What a JSON value is, in words, short enough for a message."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case str():
            return f"the text {value if len(value) <= 60 else value[:57] + '...'!r}"
        case list():
            return f"a list of {len(value)}"
        case _:
            return "an object"


def read_model(model: type[Model], value: object, *, what: str) -> Model | Faulty:
    """`value` as `model`, or what keeps it from being one; `what` names it in the message."""
    if not isinstance(value, dict):
        return faulty(f"expected {what}, found {describe(value)}")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        structure = [_structural(model, details["type"], details["loc"][0], what) for details in error.errors()]
        return Faulty((*structure, *_member_faults(model, value)))


def _structural(model: type[BaseModel], kind: str, member: int | str, what: str) -> Fault:
    """Members that are missing or unknown: all that pydantic itself refuses, since readers never do."""
    if kind == "missing":
        return Fault("", f"{what} needs the member {member!r}")
    known = ", ".join(field.alias or name for name, field in model.model_fields.items())
    return Fault(f"/{escape(member)}", f"unknown member {member!r} of {what}; known: {known}")


def _member_faults(model: type[BaseModel], value: Mapping[str, object]) -> Iterator[Fault]:
    """The faults inside the members that a model does know, where the whole could not be read."""
    for name, field in model.model_fields.items():
        key = field.alias or name
        for reader in field.metadata:
            if key in value and isinstance(reader, PlainValidator):
                yield from faults_in(cast(Reader, reader.func)(value[key]), (None, key))


def faults_in(node: object, path: NodePath | None = None) -> Iterator[Fault]:
    """Every fault of a node that was read, by its pointer from the root of `path`."""
    for place, part in walk(node, path):
        if isinstance(part, Faulty):
            at = pointer(place)
            for fault in part.faults:
                yield Fault(at + fault.at, fault.message)


def read_text(value: object) -> Text | Faulty:
    """A text whose `{var}` will be replaced."""
    if not isinstance(value, str):
        return faulty(f"expected a text, found {describe(value)}")
    try:
        return parse_text(value)
    except ValueError as error:
        return faulty(str(error))


def read_plain(value: object) -> str | Faulty:
    """A text that is taken as it stands."""
    return value if isinstance(value, str) else faulty(f"expected a text, found {describe(value)}")


def read_integer(value: object) -> int | Formula | Faulty:
    """An integer from 0 to 2^63-1, or an "=expression"."""
    if isinstance(value, str) and value.startswith("="):
        try:
            return parse_formula(value)
        except ValueError as error:
            return faulty(str(error))
    if isinstance(value, bool) or not isinstance(value, int):
        return faulty(f'expected an integer or "=expression", found {describe(value)}')
    if not 0 <= value <= INTEGER_MAX:
        return faulty(f"expected an integer from 0 to 2^63-1, found {value}")
    return value


def read_list(value: object, item: Callable[[object], Value], *, what: str) -> list[Value] | Faulty:
    """A list of items."""
    if not isinstance(value, list):
        return faulty(f"expected a list of {what}, found {describe(value)}")
    return [item(element) for element in value]


def read_some(value: object, item: Callable[[object], Value], *, what: str) -> list[Value] | Faulty:
    """A list of at least one item."""
    if isinstance(value, list) and not value:
        return faulty(f"expected at least one of {what}, found an empty list")
    return read_list(value, item, what=what)


def read_mapping(value: object, item: Callable[[object], Value], *, what: str) -> dict[str, Value | Faulty] | Faulty:
    """An object from names of 1 to 512 bytes to items."""
    if not isinstance(value, dict):
        return faulty(f"expected an object of {what}, found {describe(value)}")
    return {name: name_fault(name) or item(element) for name, element in value.items()}


def read_variables(value: object, item: Callable[[object], Value], *, what: str) -> dict[str, Value | Faulty] | Faulty:
    """An object from names that formulas and texts can mention to items."""
    if not isinstance(value, dict):
        return faulty(f"expected an object of {what}, found {describe(value)}")
    return {name: variable_fault(name) or item(element) for name, element in value.items()}


def name_fault(name: str) -> Faulty | None:
    """What is wrong with a name, if anything."""
    if not name:
        return faulty("a name is empty")
    if len(name) > NAME_BYTES or len(name.encode()) > NAME_BYTES:
        return faulty(f"a name longer than the limit of {NAME_BYTES} bytes")
    return None


def variable_fault(name: str) -> Faulty | None:
    """What is wrong with the name of a variable, if anything."""
    if NAME.fullmatch(name) is None:
        return faulty(f"{name[:60]!r} cannot name a variable: expected letters, digits and '_', no digit first")
    return name_fault(name)


def read_integers(value: object) -> list[int | Formula | Faulty] | Faulty:
    return read_list(value, read_integer, what="integers")


def read_with(value: object) -> dict[str, Text | Faulty] | Faulty:
    return read_variables(value, read_text, what="text variables")


Texts = Annotated[dict[str, Text | Faulty] | Faulty, PlainValidator(read_with)]
TextMember = Annotated[Text | Faulty, PlainValidator(read_text)]
OptionalText = Annotated[Text | Faulty | None, PlainValidator(read_text)]
Integer = Annotated[int | Formula | Faulty, PlainValidator(read_integer)]
Integers = Annotated[list[int | Formula | Faulty] | Faulty, PlainValidator(read_integers)]


class Range(Closed):
    """The integers from `start` up to but not including `stop`, `step` apart."""

    start: Integer = Field(alias="from")
    stop: Integer = Field(alias="to")
    step: Integer = 1


SetLiteral = Range | list[int | Formula | Faulty] | Faulty
SetSpelling = Text | SetLiteral


def read_set_literal(value: object) -> SetLiteral:
    """A set that is spelled out: a range or a list."""
    if isinstance(value, dict):
        return read_model(Range, value, what="a range")
    if isinstance(value, list) and len(value) > SET_INTEGERS:
        return faulty(f"a set of {len(value)} integers; the limit is {SET_INTEGERS}")
    if not isinstance(value, list):
        return faulty(f"expected the name of a set, a range or a list of integers, found {describe(value)}")
    return read_integers(value)


def read_set(value: object) -> SetSpelling:
    """A set by its name, or spelled out."""
    return read_text(value) if isinstance(value, str) else read_set_literal(value)


def read_conditions(value: object) -> dict[str, SetSpelling] | Faulty:
    """The sets of `when` and `unless` by variable."""
    return read_variables(value, read_set, what="sets by variable")


IntegerSetMember = Annotated[SetSpelling, PlainValidator(read_set)]
Conditions = Annotated[dict[str, SetSpelling] | Faulty, PlainValidator(read_conditions)]


def walk(node: object, path: NodePath | None = None) -> Iterator[tuple[NodePath | None, object]]:
    """Every node of a document that was read, integers apart, each with its path, parents first."""
    yield path, node
    if isinstance(node, BaseModel):
        for name, field in type(node).model_fields.items():
            yield from walk(getattr(node, name), (path, field.alias or name))
    elif isinstance(node, Mapping):
        for name, item in node.items():
            yield from walk(item, (path, name))
    elif isinstance(node, list):
        for index, item in enumerate(node):
            if not isinstance(item, int):
                yield from walk(item, (path, index))
