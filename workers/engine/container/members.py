"""Reads decoded JSON as closed records: exactly the members named, each of its type."""

from __future__ import annotations

from collections.abc import Sequence

from schemas.errors import ArtifactError
from schemas.storage_layouts import U64_MAX
from workers.engine.container.strict_json import describe

Record = dict[str, object]


def as_record(value: object, *, where: str) -> Record:
    """`value` as a JSON object."""
    if not isinstance(value, dict):
        raise ArtifactError(where, expected="an object", found=describe(value))
    return value


def member(record: Record, name: str, *, where: str) -> object:
    """The member of this name."""
    if name not in record:
        raise ArtifactError(where, expected=f"a member {name!r}", found="none")
    return record[name]


def check_members(record: Record, names: Sequence[str], *, where: str) -> None:
    """Raises ArtifactError unless `record` has all and only these members."""
    for name in names:
        member(record, name, where=where)
    for name in record:
        if name not in names:
            raise ArtifactError(where, expected=f"only the members {', '.join(names)}", found=describe(name))


def text(record: Record, name: str, *, where: str) -> str:
    """A non-empty string that UTF-8 can hold: JSON's escapes can spell halves of surrogate pairs, which it cannot."""
    value = member(record, name, where=where)
    place = f"{where}, member {name!r}"
    if not isinstance(value, str):
        raise ArtifactError(place, expected="a string", found=describe(value))
    if not value:
        raise ArtifactError(place, expected="a non-empty string", found="an empty one")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ArtifactError(place, expected="no lone surrogate in a string", found=describe(value)) from None
    return value


def unsigned(record: Record, name: str, *, where: str) -> int:
    """An integer from 0 to 2^64-1: no boolean, no float."""
    return _integer_from(0, member(record, name, where=where), f"{where}, member {name!r}")


def extents(record: Record, name: str, *, max_rank: int, where: str) -> tuple[int, ...]:
    """An array of at most `max_rank` positive integers."""
    value = member(record, name, where=where)
    place = f"{where}, member {name!r}"
    if not isinstance(value, list):
        raise ArtifactError(place, expected="an array of integers", found=describe(value))
    if len(value) > max_rank:
        raise ArtifactError(place, expected=f"at most {max_rank} extents", found=f"{len(value)}")
    return tuple(_integer_from(1, extent, f"{place}, extent {axis}") for axis, extent in enumerate(value))


def _integer_from(least: int, value: object, place: str) -> int:
    # bool is a subclass of int, so isinstance would let true and false pass.
    if type(value) is not int or not least <= value <= U64_MAX:
        raise ArtifactError(place, expected=f"an integer from {least} to {U64_MAX}", found=describe(value))
    return value
