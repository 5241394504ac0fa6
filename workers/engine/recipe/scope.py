"""Variables and where they are visible: recipe.md (let, values, text). Scope is dynamic, inner names hide outer."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass


class UnusableNameError(ValueError):
    """A name whose definition has a fault of its own, which is reported there and not again where it is used."""


@dataclass(frozen=True, slots=True)
class IntegerSet:
    """Distinct integers: `values` in the order written, `members` for asking whether one is among them."""

    values: Sequence[int]
    members: Container[int]


Bound = int | str | IntegerSet | None
"""What a name stands for: an integer of `let` or a loop, a text of `with`, a set of `let`; None if that is faulty."""


@dataclass(slots=True)
class Scope:
    """The names of `let`, which all share, and those that loops and `with` have added on the way here.

    Where `let` itself could not be read, `complete` is false: a name that is missing may be one of its own.
    """

    let: Mapping[str, Bound]
    local: Mapping[str, Bound]
    complete: bool = True

    def bind(self, name: str, value: Bound) -> Scope:
        """This scope with one more name, which hides that of before."""
        return Scope(self.let, {**self.local, name: value}, self.complete)

    def integer(self, name: str) -> int:
        """Raises ValueError if the name is not defined here or is no integer."""
        value = self.local.get(name)
        if isinstance(value, int):
            return value
        value = self._value(name)
        if isinstance(value, int):
            return value
        raise ValueError(f"{name!r} is a {'text' if isinstance(value, str) else 'set'}, not an integer")

    def text(self, name: str) -> str:
        """Raises ValueError if the name is not defined here or is a set."""
        value = self.local.get(name)
        if isinstance(value, str):
            return value
        value = self._value(name)
        if isinstance(value, IntegerSet):
            raise ValueError(f"{name!r} is a set, which cannot stand in a text")  # noqa: TRY004 (not a type at run time)
        return str(value)

    def set(self, name: str) -> IntegerSet:
        """Raises ValueError if the name is not defined here or is no set."""
        value = self._value(name)
        if isinstance(value, IntegerSet):
            return value
        raise ValueError(f"{name!r} is {'a text' if isinstance(value, str) else 'an integer'}, not a set")

    def _value(self, name: str) -> int | str | IntegerSet:
        if name in self.local:
            value = self.local[name]
        elif name in self.let or not self.complete:
            value = self.let.get(name)
        else:
            raise ValueError(f"the name {name[:60]!r} is not defined here")
        if value is None:
            raise UnusableNameError(name)
        return value
