"""How an artifact is to be packed: its framing, and what framing 3 leaves to whoever asks for it."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.errors import Fault, PlanError
from schemas.recipe.expanded import ExpandedRecipe
from workers.engine.architectures.registered import ARCHITECTURES
from workers.engine.container.directory import Framing


@dataclass(frozen=True, slots=True)
class Packaging:
    """How an artifact is to be packed. `framing` None takes the newest that the recipe allows; `artifact_id` None lets
    the id follow from what is converted. The last two are of framing 3 alone."""

    framing: int | None = None
    part_bytes: int | None = None
    artifact_id: bytes | None = None

    def chosen(self, recipe: ExpandedRecipe) -> Framing:
        """The framing. Raises PlanError for one that the recipe does not allow, and for options of another framing."""
        newest = Framing.TWO if recipe.architecture is None else Framing.THREE
        chosen = newest if self.framing is None else Framing(self.framing)
        faults = []
        if chosen is Framing.THREE and recipe.architecture is None:
            known = ", ".join(ARCHITECTURES)
            message = f"framing 3 takes a recipe that names one of the architectures {known}, found none"
            faults.append(Fault("/architecture", message))
        if chosen is not Framing.THREE:
            given = {"part_bytes": self.part_bytes, "artifact_id": self.artifact_id}
            faults += [
                Fault(f"/{name}", f"expected none in framing {chosen:d}, which has no place for it, found one")
                for name, value in given.items()
                if value is not None
            ]
        if faults:
            raise PlanError(f"recipe {recipe.id}", faults, expected=f"what framing {chosen:d} can hold")
        return chosen


DEFAULT_PACKAGING = Packaging()
