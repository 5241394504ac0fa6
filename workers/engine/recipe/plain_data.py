"""Whether a value is JSON data that a recipe can hold, whichever parser it came from."""

from __future__ import annotations

import math

from schemas.recipe.limits import DOCUMENT_LEVELS, NUMERAL_CHARACTERS, TEXT_BYTES
from schemas.recipe.pointer import NodePath
from workers.engine.recipe.fault_list import FaultList

_LARGEST = 10**NUMERAL_CHARACTERS


def check_plain_data(document: object, faults: FaultList) -> None:
    """Adds a fault for each value that is no JSON or that no recipe can hold.

    Those are numbers that are not finite or have more than 1000 digits, texts with NUL or lone surrogates, member names
    that are no texts, more than 100 levels of nesting, and more than 4 MiB of text in all.
    """
    size = 0
    waiting: list[tuple[object, NodePath | None, int]] = [(document, None, 0)]
    while waiting:
        value, path, level = waiting.pop()
        size += 1
        match value:
            case None | bool():
                pass
            case str():
                size += len(value)
                _check_text(value, path, faults)
            case int() | float():
                _check_number(value, path, faults)
            case dict() | list() if level == DOCUMENT_LEVELS:
                faults.add(path, f"the limit of {DOCUMENT_LEVELS} levels of nesting is passed")
            case dict():
                for name in value:
                    size += len(name) if isinstance(name, str) else 0
                    _check_name(name, path, faults)
                waiting += [(item, (path, str(name)), level + 1) for name, item in reversed(value.items())]
            case list():
                waiting += [(item, (path, index), level + 1) for index, item in reversed([*enumerate(value)])]
            case _:
                faults.add(path, f"a {type(value).__name__} is no JSON value")
        if size > TEXT_BYTES:
            faults.stop(path, f"the limit of {TEXT_BYTES // 2**20} MiB of text is passed")


def _check_text(value: str, path: NodePath | None, faults: FaultList) -> None:
    if "\0" in value:
        faults.add(path, "a text holds the character NUL")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        faults.add(path, "a text holds half of a surrogate pair, which is no character")


def _check_number(value: float, path: NodePath | None, faults: FaultList) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        faults.add(path, f"{value} is no number that a recipe can hold")
    if isinstance(value, int) and abs(value) >= _LARGEST:
        faults.add(path, f"an integer of more than {NUMERAL_CHARACTERS} digits")


def _check_name(name: object, path: NodePath | None, faults: FaultList) -> None:
    if isinstance(name, str):
        _check_text(name, path, faults)
    else:
        faults.add(path, f"a member name is a text, found {name!r}")
