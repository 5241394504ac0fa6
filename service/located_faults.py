"""Faults of a recipe at the lines and columns of the text that it was written as."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from schemas.errors import Fault, RecipeError
from workers.engine.recipe.document_text import read_text_document

_OWN_PLACE = re.compile(r"line (\d+), column (\d+): ")


@dataclass(frozen=True, slots=True)
class LocatedFault:
    """A fault of a recipe: JSON pointer, message, and line and column from 1, None where the text has no such place."""

    at: str
    message: str
    line: int | None
    column: int | None


def located_faults(text: str | bytes, faults: Iterable[Fault], *, where: str) -> list[LocatedFault]:
    """The faults at their places in a recipe's text, or where they say themselves that they are, if it cannot be
    read."""
    found = list(faults)
    try:
        places = read_text_document(text, where=where).places(fault.at for fault in found)
    except RecipeError:
        return [located_by_message(fault) for fault in found]
    return [LocatedFault(fault.at, fault.message, *places[fault.at]) for fault in found]


def located_by_message(fault: Fault) -> LocatedFault:
    """A fault for which the text gives no document says in its message where it is."""
    place = _OWN_PLACE.match(fault.message)
    if place is None:
        return LocatedFault(fault.at, fault.message, None, None)
    return LocatedFault(fault.at, fault.message[place.end() :], int(place[1]), int(place[2]))
