"""The least number of nodes that an expression will have, found without expanding it.

Values that contain each other several times grow as powers; counted first, they are refused before any is expanded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter

from pydantic import BaseModel

from schemas.recipe.document import RecipeDocument
from schemas.recipe.fields import Faulty, Range, SetSpelling
from schemas.recipe.limits import EXPRESSION_NODES
from schemas.recipe.operators import EachDocument, OperatorDocument, ValueDocument
from schemas.recipe.text import Text
from workers.engine.recipe.references import References
from workers.engine.recipe.scope import IntegerSet, Scope

ENOUGH = EXPRESSION_NODES + 1
"""Counting ends here: it is past the limit."""


@dataclass(frozen=True, slots=True)
class LeastSizes:
    """The least size of each value, and the lengths of the sets of `let`, by name."""

    values: Mapping[str, int]
    sets: Mapping[str, int]

    @classmethod
    def of(cls, document: RecipeDocument, references: References, scope: Scope) -> LeastSizes:
        """Those of one recipe; values that contain themselves count as one node, they are a fault already."""
        written = {} if isinstance(document.values, Faulty) else document.values
        lengths = {name: len(bound.values) for name, bound in scope.let.items() if isinstance(bound, IntegerSet)}
        sizes: dict[str, int] = {}
        least = cls(sizes, lengths)
        for name in TopologicalSorter({} if references.cyclic else references.values).static_order():
            if name in written:
                sizes[name] = least.size(written[name])
        return least

    def size(self, node: object) -> int:
        """The least number of nodes of an expression; at most `ENOUGH`."""
        match node:
            case ValueDocument(name=Text(literal=str() as name)):
                return self.values.get(name, 1)
            case ValueDocument():
                return 1
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
            case Text(literal=str() as name):
                return self.sets.get(name, 1)
            case _:
                return 1
