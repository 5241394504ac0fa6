"""The recipe that a command was given: a registered id or a file, every fault of it at its line and column."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import typer

from schemas.errors import RecipeError, RegistryError
from schemas.recipe.expanded import ExpandedRecipe
from service.cli.consoles import counted, tell_error
from service.located_faults import LocatedFault, located_by_message, located_faults
from workers.engine.recipe.load import load_recipe, read_recipe_text
from workers.engine.recipe.registered import registered_ids, registered_text

NO_OVERRIDES: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class FaultyRecipe:
    """A recipe that was refused."""

    where: str
    faults: tuple[LocatedFault, ...]

    def __str__(self) -> str:
        return "\n".join(
            [f"{self.where}: {counted(len(self.faults), 'fault')}", *(self._line(fault) for fault in self.faults)]
        )

    def _line(self, fault: LocatedFault) -> str:
        place = self.where if fault.line is None else f"{self.where}:{fault.line}:{fault.column}"
        return f"  {place}: {fault.at}{': ' if fault.at else ''}{fault.message}"


@dataclass(frozen=True, slots=True)
class GivenRecipe:
    """A recipe's text; `file` is where it was read, None for a registered recipe."""

    where: str
    text: str | bytes
    file: Path | None

    def load(self, let: Mapping[str, int] = NO_OVERRIDES) -> ExpandedRecipe | FaultyRecipe:
        """The recipe, or all that is wrong with it."""
        try:
            return load_recipe(self.text, where=self.where, let=let)
        except RecipeError as error:
            return FaultyRecipe(self.where, tuple(located_faults(self.text, error.faults, where=self.where)))

    def require(self, let: Mapping[str, int]) -> ExpandedRecipe:
        """The recipe. Lists every fault and exits with 1 where there is any."""
        loaded = self.load(let)
        if isinstance(loaded, FaultyRecipe):
            refuse(loaded)
        return loaded


def refuse(faulty: FaultyRecipe) -> NoReturn:
    """Lists every fault on standard error and exits with 1."""
    tell_error(str(faulty))
    raise typer.Exit(1)


def given_recipe(given: str) -> GivenRecipe:
    """The recipe of that id or in that file. Raises RegistryError where there is neither, RecipeError for a file that
    cannot be read."""
    if given in registered_ids():
        return GivenRecipe(given, registered_text(given), None)
    if not os.path.lexists(given):
        raise RegistryError(
            f"recipe {given!r}",
            expected=f"a registered id ({', '.join(registered_ids())}) or a recipe's file",
            found="no such id, and no file of that name",
        )
    return recipe_file(Path(given))


def check_file(file: Path) -> ExpandedRecipe | FaultyRecipe:
    """The recipe in that file, or all that is wrong with it, be it that the file cannot be read."""
    try:
        return recipe_file(file).load()
    except RecipeError as error:
        return FaultyRecipe(str(file), tuple(map(located_by_message, error.faults)))


def recipe_file(file: Path) -> GivenRecipe:
    """The recipe in that file. Raises RecipeError where it cannot be read."""
    return GivenRecipe(str(file), read_recipe_text(file), file)
