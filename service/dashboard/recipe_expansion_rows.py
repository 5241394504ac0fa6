"""What a recipe expands to, as rows of a table."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.recipe.expanded import ExpandedObject, ExpandedRecipe, Nonfinite
from schemas.storage_layouts import payload
from workers.engine.recipe import describe


@dataclass(frozen=True, slots=True)
class ExpandedRow:
    """One object, and how its words come about."""

    index: int
    spec: ExpandedObject

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def format(self) -> str:
        return self.spec.format

    @property
    def bytes(self) -> int:
        """What its payload takes."""
        return payload(self.spec.format, self.spec.shape, where=self.spec.name).bytes

    @property
    def expression(self) -> str:
        """Its value, in one line."""
        return describe.render(self.spec.value)

    @property
    def rules(self) -> list[str]:
        """What else holds for its words."""
        allowed = ["infinities and NaN are allowed"] if self.spec.nonfinite is Nonfinite.ALLOW else []
        required = [f"each value is {self.spec.require}"] if self.spec.require is not None else []
        return [*allowed, *required, *(f"equals {describe.render(other)}" for other in self.spec.equals)]


def expanded_rows(recipe: ExpandedRecipe) -> list[ExpandedRow]:
    """All objects, in order."""
    return [ExpandedRow(index, spec) for index, spec in enumerate(recipe.objects)]
