"""Reads what framing 3 leaves open (container-v3.md, 4): configs, metadata and provenance, as plain values."""

from __future__ import annotations

import math

from schemas.errors import ArtifactError
from workers.engine.container.members import as_record, check_utf8
from workers.engine.container.model_description import ConfigValue
from workers.engine.container.strict_json import OtherNumber, describe

MAX_LEVELS = 64
"""Arrays and objects inside one another. This implementation's own limit, many times what any config known has."""


def open_record(value: object, *, where: str) -> dict[str, ConfigValue]:
    """A JSON object of any members, its numbers that are no 64-bit integers as binary64.

    Raises ArtifactError for a number that binary64 cannot hold, a lone surrogate in a string, and more than MAX_LEVELS.
    """
    record = as_record(value, where=where)
    for name in record:
        check_utf8(name, where)
    return {name: _value(one, f"{where}, {describe(name)}", MAX_LEVELS - 1) for name, one in record.items()}


def _value(value: object, place: str, levels: int) -> ConfigValue:
    if levels == 0 and isinstance(value, list | dict):
        raise ArtifactError(place, expected=f"at most {MAX_LEVELS} levels of nesting", found="more")
    match value:
        case OtherNumber(text):
            number = float(text)
            if not math.isfinite(number):
                raise ArtifactError(place, expected="a number that binary64 can hold", found=describe(value))
            return number
        case str():
            check_utf8(value, place)
            return value
        case list():
            return [_value(one, place, levels - 1) for one in value]
        case dict():
            for name in value:
                check_utf8(name, place)
            return {name: _value(one, place, levels - 1) for name, one in value.items()}
        case int() | None:
            return value
        case _:
            raise TypeError(f"not a decoded JSON value: {value!r}")
