"""Comparison of a checkpoint's config.json with the members that a recipe expects (recipe.md, sources).

Both sides are walked with a list of what is still to do, so that no depth of nesting is too deep.
"""

from __future__ import annotations

from collections.abc import Mapping

from schemas.errors import Fault
from workers.engine.sources.wording import shown_json


def config_differences(expected: Mapping[str, object], found: Mapping[str, object]) -> tuple[Fault, ...]:
    """Every expected member that `found` lacks or has otherwise, each at its JSON pointer into config.json.

    Objects compare member by member, where `found` may have further members; lists compare whole; numbers by value,
    so that 1 equals 1.0; true and false equal only themselves.
    """
    faults = []
    pending: list[tuple[str, object, object]] = [("", expected, found)]
    while pending:
        at, value, other = pending.pop()
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            members = [(f"{at}/{_escaped(name)}", member, other.get(name, _ABSENT)) for name, member in value.items()]
            pending.extend(reversed(members))
        elif other is _ABSENT:
            faults.append(Fault(at, f"expected {shown_json(value)}, found no such member"))
        elif not _equal(value, other):
            faults.append(Fault(at, f"expected {shown_json(value)}, found {shown_json(other)}"))
    return tuple(faults)


_ABSENT = object()


def _escaped(name: str) -> str:
    """A member name as a JSON pointer has it (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


def _equal(expected: object, found: object) -> bool:
    """Whether two JSON values are the same, with objects below a list compared whole."""
    pending = [(expected, found)]
    while pending:
        value, other = pending.pop()
        if isinstance(value, Mapping):
            if not isinstance(other, Mapping) or value.keys() != other.keys():
                return False
            pending.extend((value[name], other[name]) for name in value)
        elif isinstance(value, list | tuple):
            if not isinstance(other, list | tuple) or len(value) != len(other):
                return False
            pending.extend(zip(value, other, strict=True))
        elif not _equal_scalars(value, other):
            return False
    return True


def _equal_scalars(expected: object, found: object) -> bool:
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, int | float) and isinstance(found, int | float):
        return expected == found
    return type(expected) is type(found) and expected == found
