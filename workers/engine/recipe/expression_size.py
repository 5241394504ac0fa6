"""The least number of nodes that an expression will have, found without expanding it.

Values that contain each other several times grow as powers; counted first, they are refused before any is expanded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter

from pydantic import BaseModel

from schemas.recipe.fields import Range, SetSpelling
from schemas.recipe.limits import EXPRESSION_NODES
from schemas.recipe.operators import EachDocument, OperatorDocument, ValueDocument
from schemas.recipe.text import Text

ENOUGH = EXPRESSION_NODES + 1
"""Counting ends here: it is past the limit."""


def least_sizes(values: Mapping[str, object], references: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The least size of each value. `references` are the values that each one names; there is no cycle in them."""
    sizes: dict[str, int] = {}
    for name in TopologicalSorter(references).static_order():
        if name in values:
            sizes[name] = least_size(values[name], sizes)
    return sizes


def least_size(node: object, sizes: Mapping[str, int]) -> int:
    """The least number of nodes of an expression, `sizes` being those of the values; at most `ENOUGH`."""
    match node:
        case ValueDocument(name=Text() as name):
            return sizes.get(name.parts[0], 1) if name.is_literal else 1
        case EachDocument():
            return min(ENOUGH, _turns(node.over) * least_size(node.each, sizes))
        case BaseModel():
            own = 1 if isinstance(node, OperatorDocument) else 0
            return min(ENOUGH, own + sum(least_size(part, sizes) for part in node.__dict__.values()))
        case list():
            return min(ENOUGH, sum(least_size(part, sizes) for part in node))
        case _:
            return 0


def _turns(over: SetSpelling) -> int:
    """How many integers a set has, as far as it is spelled out in numbers."""
    match over:
        case list():
            return len(over)
        case Range(start=int() as start, stop=int() as stop, step=int() as step) if step > 0:
            return len(range(start, stop, step))
        case _:
            return 1
