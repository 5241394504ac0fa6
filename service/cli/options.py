"""Options that several commands share, and what their texts mean."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from schemas.recipe.expanded import ExpandedRecipe
from workers.engine.recipe.load import read_recipe
from workers.engine.recipe.registered import load_registered, registered_ids

RecipeArgument = Annotated[
    str, typer.Argument(metavar="RECIPE", help="A registered id (ninforge recipe list) or a file.")
]
SourceOption = Annotated[
    list[str] | None, typer.Option("--source", metavar="NAME=WHERE", help="Where a source of the recipe is.")
]
ResourceOption = Annotated[
    list[str] | None, typer.Option("--resource", metavar="NAME=FILE", help="Another place for one resource.")
]
LetOption = Annotated[
    list[str] | None, typer.Option("--let", metavar="N=V", help="Another value for a named integer of the recipe.")
]
FramingOption = Annotated[str, typer.Option("--framing", help="auto, 1 or 2.")]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
ThreadsOption = Annotated[int | None, typer.Option("--threads", min=1, help="Threads; all cores by default.")]


def usage_error(message: str) -> NoReturn:
    """Ends with exit code 2."""
    raise typer.BadParameter(message)


def thread_count(threads: int | None) -> int:
    """The threads asked for, or as many as cores that this process may use."""
    return threads or len(os.sched_getaffinity(0))


def places(pairs: list[str] | None, option: str) -> dict[str, Path]:
    """`NAME=PATH` options as a mapping."""
    found: dict[str, Path] = {}
    for pair in pairs or []:
        name, separator, where = pair.partition("=")
        if not separator or not name or not where:
            usage_error(f"{option}: expected NAME=WHERE, found {pair!r}")
        if name in found:
            usage_error(f"{option}: expected each name once, found {name!r} twice")
        if where.startswith(("hf:", "http:", "https:")):
            usage_error(f"{option}: expected a path, since nothing is fetched, found {where!r}")
        found[name] = Path(where)
    return found


def let_values(pairs: list[str] | None) -> dict[str, int]:
    """`N=V` options as integers by name."""
    found: dict[str, int] = {}
    for pair in pairs or []:
        name, _, value = pair.partition("=")
        if not name or not (value.isascii() and value.isdecimal()):
            usage_error(f"--let: expected NAME=INTEGER, found {pair!r}")
        if name in found:
            usage_error(f"--let: expected each name once, found {name!r} twice")
        found[name] = int(value)
    return found


def framing_number(framing: str) -> int | None:
    """The framing asked for; None for auto."""
    if framing == "auto":
        return None
    if framing not in {"1", "2"}:
        usage_error(f"--framing: expected auto, 1 or 2, found {framing!r}")
    return int(framing)


def recipe(given: str, let: list[str] | None) -> ExpandedRecipe:
    """The recipe of a registered id or in a file. Raises RecipeError with all its faults."""
    values = let_values(let)
    if given in registered_ids():
        return load_registered(given, let=values)
    return read_recipe(Path(given), let=values)
