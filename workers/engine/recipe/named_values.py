"""The expressions that `values` names, followed from name to name: recipe.md (let, values, text)."""

from __future__ import annotations

from schemas.recipe.document import RecipeDocument
from schemas.recipe.fields import Faulty
from schemas.recipe.operators import ExpressionDocument, OperatorDocument, ValueDocument
from schemas.recipe.pointer import NodePath
from workers.engine.recipe.fault_list import unknown
from workers.engine.recipe.references import References
from workers.engine.recipe.resolution import Resolver
from workers.engine.recipe.scope import Scope

Node = ExpressionDocument | Faulty

NOTHING = Faulty(())
"""Stands for a value that does not exist, once that has been said."""


class NamedValues:
    """The values of one recipe, and which of them are being expanded: a value must not contain itself."""

    def __init__(self, document: RecipeDocument, resolver: Resolver, references: References) -> None:
        self._values = None if isinstance(document.values, Faulty) else document.values
        self._resolver = resolver
        self._cyclic = references.cyclic
        self._active: set[str] = set()

    def follow(
        self, node: Node, scope: Scope, path: NodePath, followed: list[str]
    ) -> tuple[OperatorDocument, Scope, NodePath] | None:
        """The operator that `value` leads to, perhaps by way of others, and the scope there; None after a fault.

        The names go into `followed`, to be left again by `leave`. A loop, so that a long chain of names cannot exhaust
        Python's stack.
        """
        while isinstance(node, ValueDocument):
            self._resolver.budget.steps(1 if followed else 0, path)
            name = self._resolver.name(node.name, scope, (path, "value"))
            inner = self._resolver.inner_scope(node.texts, scope, (path, "with"))
            if name is None or inner is None:
                return None
            node = self._named(name, (path, "value"))
            if node is not NOTHING:
                self._active.add(name)
                followed.append(name)
            scope, path = inner, ((None, "values"), name)
        return None if isinstance(node, Faulty) else (node, scope, path)

    def leave(self, followed: list[str]) -> None:
        self._active.difference_update(followed)

    def _named(self, name: str, path: NodePath) -> Node:
        if self._values is None:
            return NOTHING
        if name not in self._values:
            self._resolver.faults.add(path, unknown("value", name, self._values))
            return NOTHING
        if name in self._active:
            if not self._cyclic:
                self._resolver.faults.add(path, f"the value {name!r} contains itself")
            return NOTHING
        return self._values[name]
