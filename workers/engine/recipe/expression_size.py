"""The least number of nodes that an expression will have, found without expanding it.

Values that contain each other several times grow as powers; counted first, they are refused before any is expanded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from pydantic import BaseModel

from schemas.recipe.fields import Range, SetSpelling
from schemas.recipe.limits import EXPRESSION_NODES
from schemas.recipe.operators import EachDocument, OperatorDocument, ValueDocument
from schemas.recipe.text import Text

ENOUGH = EXPRESSION_NODES + 1
"""Counting ends here: it is past the limit."""


@dataclass(frozen=True, slots=True)
class LeastSizes:
    """The least size of each value, and the lengths of the sets of `let`, by name."""

    values: Mapping[str, int]
    sets: Mapping[str, int]

    @classmethod
    def of(
        cls, values: Mapping[str, object], references: Mapping[str, Sequence[str]], sets: Mapping[str, int]
    ) -> LeastSizes:
        """`references` are the values that each value names; there is no cycle in them."""
        sizes: dict[str, int] = {}
        least = cls(sizes, sets)
        for name in TopologicalSorter(references).static_order():
            if name in values:
                sizes[name] = least.size(values[name])
        return least

    def size(self, node: object) -> int:
        """The least number of nodes of an expression; at most `ENOUGH`."""
        match node:
            case ValueDocument(name=Text() as name):
                return self.values.get(name.parts[0], 1) if name.is_literal else 1
            case EachDocument():
                return min(ENOUGH, self._turns(node.over) * self.size(node.each))
            case BaseModel():
                own = 1 if isinstance(node, OperatorDocument) else 0
                return min(ENOUGH, own + sum(self.size(part) for part in node.__dict__.values()))
            case list():
                return min(ENOUGH, sum(self.size(part) for part in node))
            case _:
                return 0

    def _turns(self, over: SetSpelling) -> int:
        """How many integers a set has, as far as it is spelled out in numbers or is one of `let`."""
        match over:
            case list():
                return len(over)
            case Range(start=int() as start, stop=int() as stop, step=int() as step) if step > 0:
                return len(range(start, stop, step))
            case Text() if over.is_literal:
                return self.sets.get(over.parts[0], 1)
            case _:
                return 1
