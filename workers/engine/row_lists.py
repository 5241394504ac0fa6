"""Row lists of a recipe: I32 objects that `gather` takes rows from, each made once and after those that it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import RLock

import numpy as np
import numpy.typing as npt

from schemas.recipe.expanded import Gather
from workers.engine.recipe.inference import Typed

Positions = npt.NDArray[np.int64]


class RowLists:
    """The row lists among some values, by object. `make` gives the elements of one whose own row lists are made.

    A list is held whole: 8 bytes a row. Safe to ask from several threads.
    """

    def __init__(self, values: Mapping[str, Typed], make: Callable[[str], Positions]) -> None:
        self._values = values
        self._make = make
        self._made: dict[str, Positions] = {}
        self._lock = RLock()

    def of(self, name: str) -> Positions:
        """The row numbers that the object of this name holds."""
        made = self._made.get(name)
        if made is not None:
            return made
        with self._lock:
            pending = [name]
            while pending:
                needed = [other for other in _gathered(self._values[pending[-1]]) if other not in self._made]
                if needed:
                    pending += needed
                else:
                    current = pending.pop()
                    if current not in self._made:
                        self._made[current] = self._make(current)
            return self._made[name]


def _gathered(value: Typed) -> set[str]:
    """The objects whose rows a value gathers by."""
    own = {value.op.rows} if isinstance(value.op, Gather) else set[str]()
    return own.union(*(_gathered(child) for child in value.of))
