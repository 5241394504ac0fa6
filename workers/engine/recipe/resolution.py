"""Members of a document evaluated in a scope: integers, texts, sets and conditions of recipe.md (let, values, text).

Every method gives None where it cannot give a value; the fault is then in the list, at its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TypeVar, cast

from schemas.recipe.arithmetic import Formula, evaluate
from schemas.recipe.document import LetDocument
from schemas.recipe.entries import EntryDocument
from schemas.recipe.fields import Faulty, Range, SetLiteral, SetSpelling, describe, variable_fault
from schemas.recipe.limits import CANONICAL_INTEGER_MAX, INTEGER_MAX, ITEMS_A_STEP, NAME_BYTES, SET_INTEGERS, TEXT_BYTES
from schemas.recipe.pointer import NodePath
from schemas.recipe.text import Text, render
from workers.engine.recipe.fault_list import Budget, FaultList, unknown
from workers.engine.recipe.scope import Bound, IntegerSet, Scope, UnusableNameError

Choice = TypeVar("Choice", bound=StrEnum)


class Resolver:
    """Evaluates what one document writes, collecting faults and counting steps.

    The document outlives it: sets spelled in numbers alone are kept by the identity of their node.
    """

    def __init__(self, faults: FaultList, budget: Budget) -> None:
        self.faults = faults
        self.budget = budget
        self._constant_sets: dict[int, IntegerSet] = {}

    def integer(self, node: int | Formula | Faulty, scope: Scope, path: NodePath) -> int | None:
        """An integer from 0 to 2^63-1."""
        if isinstance(node, int):
            return node
        if isinstance(node, Faulty):
            return None
        if len(node.code) > 1:
            self.budget.steps(len(node.code) // 2, path)
        try:
            return evaluate(node, scope.integer)
        except ValueError as error:
            self._report(error, path)
            return None

    def canonical_integer(self, node: int | Formula | Faulty, scope: Scope, path: NodePath) -> int | None:
        """An integer that the canonical form can spell: from 0 to 2^53-1."""
        value = node if isinstance(node, int) else self.integer(node, scope, path)
        if value is not None and value > CANONICAL_INTEGER_MAX:
            self.faults.add(path, f"{value} is beyond 2^53-1, the largest integer of the canonical form (RFC 8785)")
            return None
        return value

    def canonical_integers(
        self, node: list[int | Formula | Faulty] | Faulty, scope: Scope, path: NodePath
    ) -> tuple[int, ...] | None:
        if isinstance(node, Faulty):
            return None
        self.budget.steps(len(node) // ITEMS_A_STEP, path)
        self.budget.canonical_bytes(2 * len(node), path)
        if all(isinstance(item, int) and item <= CANONICAL_INTEGER_MAX for item in node):
            return cast(tuple[int, ...], tuple(node))
        values = [self.canonical_integer(item, scope, (path, index)) for index, item in enumerate(node)]
        known = tuple(value for value in values if value is not None)
        return known if len(known) == len(values) else None

    def text(self, node: Text | Faulty, scope: Scope, path: NodePath, *, limit: int = TEXT_BYTES) -> str | None:
        """A text of at most `limit` bytes with its variables replaced."""
        if isinstance(node, Faulty):
            return None
        if node.literal is not None and len(node.literal) <= limit // 4:
            return node.literal
        if len(node.parts) > ITEMS_A_STEP:
            self.budget.steps(len(node.parts) // ITEMS_A_STEP, path)
        try:
            return render(node, scope.text, limit=limit)
        except ValueError as error:
            self._report(error, path)
            return None

    def filled(self, node: Text | Faulty, scope: Scope, path: NodePath) -> str | None:
        """A text that is not empty."""
        text = self.text(node, scope, path)
        if text == "":
            self.faults.add(path, "expected a text, found an empty one")
        return text or None

    def name(self, node: Text | Faulty, scope: Scope, path: NodePath) -> str | None:
        """A name: 1 to 512 bytes."""
        name = self.text(node, scope, path, limit=NAME_BYTES)
        if name == "":
            self.faults.add(path, "a name is empty")
        return name or None

    def variable(self, node: Text | Faulty, scope: Scope, path: NodePath) -> str | None:
        """The name of a loop's variable."""
        name = self.name(node, scope, path)
        fault = None if name is None else variable_fault(name)
        if fault is not None:
            self.faults.add(path, fault.faults[0].message)
            return None
        return name

    def choice(
        self, node: Text | Faulty, choices: type[Choice], scope: Scope, path: NodePath, *, what: str
    ) -> Choice | None:
        """One of a closed set of names."""
        name = self.text(node, scope, path, limit=NAME_BYTES)
        if name is None:
            return None
        try:
            return choices(name)
        except ValueError:
            self.faults.add(path, unknown(what, name, choices))
            return None

    def integer_set(self, node: SetSpelling, scope: Scope, path: NodePath) -> IntegerSet | None:
        """A set by its name, or spelled out."""
        if not isinstance(node, Text):
            return self.literal_set(node, scope, path)
        name = self.name(node, scope, path)
        if name is None:
            return None
        try:
            return scope.set(name)
        except ValueError as error:
            self._report(error, path)
            return None

    def turns(self, node: SetSpelling, scope: Scope, path: NodePath) -> Sequence[int] | None:
        """The integers that a loop goes through: at least one."""
        integers = self.integer_set(node, scope, path)
        if integers is not None and not integers.values:
            self.faults.add(path, "a loop over an empty set")
            return None
        return None if integers is None else integers.values

    def literal_set(self, node: SetLiteral, scope: Scope, path: NodePath) -> IntegerSet | None:
        if isinstance(node, Faulty):
            return None
        known = self._constant_sets.get(id(node))
        if known is not None:
            return known
        integers = self._range(node, scope, path) if isinstance(node, Range) else self._list(node, scope, path)
        items = node if isinstance(node, list) else (node.start, node.stop, node.step)
        if integers is not None and all(isinstance(item, int) for item in items):
            self._constant_sets[id(node)] = integers
        return integers

    def _range(self, node: Range, scope: Scope, path: NodePath) -> IntegerSet | None:
        start = self.integer(node.start, scope, (path, "from"))
        stop = self.integer(node.stop, scope, (path, "to"))
        step = self.integer(node.step, scope, (path, "step"))
        if step == 0:
            self.faults.add((path, "step"), "a range's step is at least 1, found 0")
        if start is None or stop is None or not step:
            return None
        values = range(start, stop, step)
        if len(values) > SET_INTEGERS:
            self.faults.add(path, f"a range of {len(values)} integers; the limit of a set is {SET_INTEGERS:,}")
            return None
        return IntegerSet(values, values)

    def _list(self, node: list[int | Formula | Faulty], scope: Scope, path: NodePath) -> IntegerSet | None:
        self.budget.steps(len(node) // ITEMS_A_STEP, path)
        values: dict[int, None] = {}
        usable = True
        for index, item in enumerate(node):
            value = self.integer(item, scope, (path, index))
            if value in values:
                self.faults.add((path, index), f"{value} stands twice in one set")
            if value is None:
                usable = False
            else:
                values[value] = None
        return IntegerSet(tuple(values), values.keys()) if usable else None

    def admits(self, entry: EntryDocument, scope: Scope, path: NodePath) -> bool | None:
        """Whether `when` and `unless` let an entry through."""
        if not (entry.when or entry.unless):
            return True
        wanted = self._memberships(entry.when, scope, (path, "when"))
        barred = self._memberships(entry.unless, scope, (path, "unless"))
        return None if wanted is None or barred is None else all(wanted) and not any(barred)

    def _memberships(
        self, conditions: dict[str, SetSpelling] | Faulty, scope: Scope, path: NodePath
    ) -> list[bool] | None:
        """Of each variable whether it is in its set."""
        if isinstance(conditions, Faulty):
            return None
        self.budget.steps(len(conditions) // ITEMS_A_STEP, path)
        found: list[bool] = []
        for variable, spelling in conditions.items():
            place = (path, variable)
            integers = self.integer_set(spelling, scope, place)
            try:
                value = scope.integer(variable)
            except ValueError as error:
                self._report(error, place)
                continue
            if integers is not None:
                found.append(value in integers.members)
        return found if len(found) == len(conditions) else None

    def inner_scope(self, texts: dict[str, Text | Faulty] | Faulty, scope: Scope, path: NodePath) -> Scope | None:
        """The scope with the texts of `with`, in order: later ones may use earlier ones."""
        if isinstance(texts, Faulty):
            return None
        if not texts:
            return scope
        self.budget.steps((len(scope.local) + len(texts)) // ITEMS_A_STEP, path)
        local = dict(scope.local)
        inner = Scope(scope.let, local, scope.complete)
        for name, node in texts.items():
            local[name] = self.text(node, inner, (path, name), limit=NAME_BYTES)
        return inner

    def _report(self, error: ValueError, path: NodePath) -> None:
        """Takes in what an evaluation raised, unless it is said already where the name is defined."""
        if not isinstance(error, UnusableNameError):
            self.faults.add(path, str(error))


def bind_let(let: dict[str, LetDocument] | Faulty, overrides: Mapping[str, int], resolver: Resolver) -> Scope:
    """The names of `let`, in order: each entry may use earlier ones. An override takes the place of an integer."""
    if isinstance(let, Faulty):
        return Scope({}, {}, complete=False)
    path = (None, "let")
    for name, value in overrides.items():
        if name not in let:
            resolver.faults.add(path, unknown("override of 'let'", name, let))
        elif isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= INTEGER_MAX:
            resolver.faults.add((path, name), f"an override is an integer from 0 to 2^63-1, found {describe(value)}")
    bound: dict[str, Bound] = {}
    scope = Scope(bound, {})
    for name, node in let.items():
        place = (path, name)
        if isinstance(node, Range | list):
            if name in overrides:
                resolver.faults.add(place, f"{name!r} is a set; an override can only replace an integer")
            bound[name] = resolver.literal_set(node, scope, place)
        else:
            bound[name] = overrides[name] if name in overrides else resolver.integer(node, scope, place)
    return scope
