"""JSON text as the container allows it: UTF-8, no key twice in an object, no NaN or Infinity, numbers kept exact.

Parsing is the standard library's; its hooks refuse what it would let pass.
"""

from __future__ import annotations

import json
import reprlib
from collections import Counter
from dataclasses import dataclass

from schemas.errors import ArtifactError
from workers.engine.container.limits import check_json_values

_SHOWN = reprlib.Repr()
_SHOWN.maxstring = 100

_LONGEST_INTEGER = len("-18446744073709551615")


@dataclass(frozen=True, slots=True)
class OtherNumber:
    """A number that is no integer of at most 64 bits by its spelling (fraction, exponent, too many digits), as text."""

    text: str


def decode(text: bytes, *, where: str) -> object:
    """The value of one JSON text: dict, list, str, int, OtherNumber, bool or None.

    Raises ArtifactError for text that is not JSON, or that the container forbids.
    """
    check_json_values(text, where=where)
    try:
        characters = text.decode()
    except UnicodeDecodeError as error:
        found = f"0x{text[error.start]:02x} at byte {error.start} ({error.reason})"
        raise ArtifactError(where, expected="UTF-8", found=found) from None
    try:
        return _decoder(where).decode(characters)
    except json.JSONDecodeError as error:
        raise ArtifactError(where, expected="valid JSON", found=f"a fault: {error}") from None
    except RecursionError:
        raise ArtifactError(where, expected="JSON a few levels deep", found="too many levels of nesting") from None


def describe(value: object) -> str:
    """A decoded value as a message shows it: short, printable, whatever it is."""
    match value:
        case str():
            return _SHOWN.repr(value)
        case OtherNumber():
            return f"{value.text[:40]}…" if len(value.text) > 40 else value.text
        case list():
            return f"an array of {len(value)}"
        case dict():
            return f"an object of {len(value)} members"
        case _:
            return json.dumps(value)


def _decoder(where: str) -> json.JSONDecoder:
    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        values = dict(pairs)
        if len(values) < len(pairs):
            raise _repeated_key(pairs, where)
        return values

    def constant(name: str) -> object:
        raise ArtifactError(where, expected="JSON, which has no such number", found=name)

    return json.JSONDecoder(
        object_pairs_hook=members, parse_int=_integer, parse_float=OtherNumber, parse_constant=constant
    )


def _integer(text: str) -> int | OtherNumber:
    return int(text) if len(text) <= _LONGEST_INTEGER else OtherNumber(text)


def _repeated_key(pairs: list[tuple[str, object]], where: str) -> ArtifactError:
    counts = Counter(key for key, _ in pairs)
    [(repeated, times)] = counts.most_common(1)
    names = [value for key, value in pairs if key in {"name", "id"} and isinstance(value, str)]
    owner = describe(names[0]) if names else f"with members {', '.join(map(describe, [*counts][:8]))}"
    return ArtifactError(
        f"{where}, object {owner}", expected="every key once", found=f"{describe(repeated)} {times} times"
    )
