"""Reads decoded JSON as closed records: exactly the members named, each of its type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TypeVar

from schemas.errors import ArtifactError
from schemas.storage_layouts import U64_MAX
from workers.engine.container.strict_json import describe

Record = dict[str, object]
Value = TypeVar("Value")
Name = TypeVar("Name", bound=StrEnum)


def as_record(value: object, *, where: str) -> Record:
    """`value` as a JSON object."""
    if not isinstance(value, dict):
        raise ArtifactError(where, expected="an object", found=describe(value))
    return value


def as_list(value: object, *, where: str) -> list[object]:
    """`value` as a JSON array."""
    if not isinstance(value, list):
        raise ArtifactError(where, expected="an array", found=describe(value))
    return value


def member(record: Record, name: str, *, where: str) -> object:
    """The member of this name."""
    if name not in record:
        raise ArtifactError(where, expected=f"a member {name!r}", found="none")
    return record[name]


def check_members(record: Record, names: Sequence[str], *, optional: Sequence[str] = (), where: str) -> None:
    """Raises ArtifactError unless `record` has all and only these members, and of the optional ones any."""
    for name in names:
        member(record, name, where=where)
    allowed = (*names, *optional)
    for name in record:
        if name not in allowed:
            raise ArtifactError(where, expected=f"only the members {', '.join(allowed)}", found=describe(name))


def text(record: Record, name: str, *, where: str) -> str:
    """A non-empty string that UTF-8 can hold: JSON's escapes can spell halves of surrogate pairs, which it cannot."""
    return as_text(member(record, name, where=where), f"{where}, member {name!r}")


def as_text(value: object, place: str) -> str:
    """`value` as a non-empty string that UTF-8 can hold."""
    if not isinstance(value, str):
        raise ArtifactError(place, expected="a string", found=describe(value))
    if not value:
        raise ArtifactError(place, expected="a non-empty string", found="an empty one")
    check_utf8(value, place)
    return value


def check_utf8(value: str, place: str) -> None:
    """Raises ArtifactError for a string that UTF-8 cannot hold."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ArtifactError(place, expected="no lone surrogate in a string", found=describe(value)) from None


def identifier(value: object, place: str) -> str:
    """`value` as an ID of framing 3: text as above, without the character U+0000."""
    found = as_text(value, place)
    if "\0" in found:
        raise ArtifactError(place, expected="an id without the character U+0000", found=describe(found))
    return found


def unsigned(record: Record, name: str, *, where: str) -> int:
    """An integer from 0 to 2^64-1: no boolean, no float."""
    return integer_from(0, member(record, name, where=where), f"{where}, member {name!r}")


def extents(record: Record, name: str, *, max_rank: int, where: str) -> tuple[int, ...]:
    """An array of at most `max_rank` positive integers."""
    value = member(record, name, where=where)
    place = f"{where}, member {name!r}"
    if not isinstance(value, list):
        raise ArtifactError(place, expected="an array of integers", found=describe(value))
    if len(value) > max_rank:
        raise ArtifactError(place, expected=f"at most {max_rank} extents", found=f"{len(value)}")
    return tuple(integer_from(1, extent, f"{place}, extent {axis}") for axis, extent in enumerate(value))


def integer_from(least: int, value: object, place: str) -> int:
    """`value` as an integer from `least` to 2^64-1: no boolean, no float."""
    # bool is a subclass of int, so isinstance would let true and false pass.
    if type(value) is not int or not least <= value <= U64_MAX:
        raise ArtifactError(place, expected=f"an integer from {least} to {U64_MAX}", found=describe(value))
    return value


def one_of(registry: type[Name], value: object, place: str) -> Name:
    """The member of an enumeration that `value` spells."""
    for registered in registry:
        if registered == value:
            return registered
    raise ArtifactError(place, expected=f"one of {', '.join(registry)}", found=describe(value))


def named(value: object, read: Callable[[object, str], Value], *, where: str) -> dict[str, Value]:
    """A JSON object whose keys are IDs of framing 3 and whose values are all read by `read`."""
    record = as_record(value, where=where)
    return {identifier(name, where): read(one, f"{where}, {describe(name)}") for name, one in record.items()}
