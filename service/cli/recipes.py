"""`ninforge recipe list|show|check|adapt`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from schemas.errors import Fault, PlanError
from schemas.recipe.expanded import ExpandedRecipe, ExpandedResource
from service.cli.consoles import counted, say, say_document, say_table, say_text, tell
from service.cli.options import (
    JsonOption,
    LetOption,
    RecipeArgument,
    SourceOption,
    integers_by_name,
    places_by_name,
)
from service.cli.output_places import check_output, parse_output, pending_file
from service.cli.recipe_argument import FaultyRecipe, check_file, given_recipe, refuse
from service.located_faults import LocatedFault
from workers.engine.recipe.adaptation import adapt_recipe_text
from workers.engine.recipe.document_text import read_text_document
from workers.engine.recipe.registered import load_registered, registered_ids, registered_text
from workers.engine.sources.hashed_file import hash_file
from workers.engine.sources.roots import ANYWHERE
from workers.engine.sources.wording import shown_path

application = typer.Typer(
    help="Registered recipes, and checks of your own.", no_args_is_help=True, rich_markup_mode=None
)


@application.command("list")
def list_recipes(as_json: JsonOption = False) -> None:
    """List the registered recipes."""
    loaded = [load_registered(name) for name in registered_ids()]
    counts = [len(one.objects) + len(one.resources) for one in loaded]
    if as_json:
        say_document(
            [
                {"id": one.id, "revision": one.revision, "title": one.title, "sha256": one.sha256, "objects": count}
                for one, count in zip(loaded, counts, strict=True)
            ]
        )
        return
    rows = [(one.id, one.revision, count, one.title or "") for one, count in zip(loaded, counts, strict=True)]
    say_table(("id", "revision", "objects", "title"), rows)


@application.command()
def show(
    id: Annotated[str, typer.Argument(metavar="ID", help="A registered id (ninforge recipe list).")],
    as_json: JsonOption = False,
) -> None:
    """Print a registered recipe."""
    text = registered_text(id)
    if as_json:
        say_document(read_text_document(text, where=id).data)
    else:
        say_text(text)


@application.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A recipe, JSON or YAML.")], as_json: JsonOption = False
) -> None:
    """Check a recipe and list every fault at once, each with its line and column."""
    checked = check_file(file)
    if isinstance(checked, FaultyRecipe):
        if as_json:
            _say_faults(checked.faults)
            raise typer.Exit(1)
        refuse(checked)
    if as_json:
        say_document({"id": checked.id, "revision": checked.revision, "sha256": checked.sha256, "faults": []})
        return
    objects = counted(len(checked.objects) + len(checked.resources), "object")
    say(f"{file}: no faults; {checked.id} revision {checked.revision}, {objects}, SHA-256 {checked.sha256}")


@application.command()
def adapt(
    recipe: RecipeArgument,
    id: Annotated[str, typer.Option("--id", metavar="NEW_ID", help="The id of the recipe to make.")],
    let: LetOption = None,
    source: SourceOption = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", parser=parse_output, help="Where to write it instead of printing it."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Print a recipe as one of your own: for other integers of `let`, and for the resource files at the sources given.

    A resource that the recipe pins by its SHA-256 is pinned to the file found at its source; without a place for its
    source it keeps its pin. Overridden integers make no claim to the recipe's target. All else of the text stays.
    """
    from service.cli.fetching import GivenPlaces

    integers, places = integers_by_name(let, "--let"), places_by_name(source, "--source")
    if out is not None:
        check_output(out, force=force)
    given = given_recipe(recipe)
    made_of = given.require(integers)
    _require_sources(made_of, places)
    with GivenPlaces.of(made_of, places, {}).from_headers() as local:
        pins = _pins(made_of, {name: path for name, path in local.sources.items() if name in places})
    text = given.text if isinstance(given.text, str) else given.text.decode()
    adapted = adapt_recipe_text(text, where=given.where, id=id, let=integers, pins=pins)
    if out is None:
        say_text(adapted)
        return
    with pending_file(out, force=force) as publish:
        publish(adapted.encode())


def _require_sources(recipe: ExpandedRecipe, places: Collection[str]) -> None:
    """Raises PlanError for a place of no source."""
    faults = [
        Fault("/sources", f"expected one of {', '.join(recipe.sources)}, found a place for {name!r}")
        for name in places
        if name not in recipe.sources
    ]
    if faults:
        raise PlanError(recipe.id, faults, expected="places of the recipe's sources")


def _pins(recipe: ExpandedRecipe, places: Mapping[str, Path]) -> dict[str, str]:
    """The SHA-256 of the files found for the resources that have one. Raises SourceError for a place where nothing
    is."""
    for name, place in places.items():
        ANYWHERE.is_folder(place, f"source {name}, place {shown_path(place)}")
    pins = {}
    for resource in recipe.resources:
        if resource.sha256 is None:
            continue
        if resource.source not in places:
            tell(f"resource {resource.name} keeps its SHA-256: no place was given for its source {resource.source}")
            continue
        file = _resource_file(resource, places[resource.source])
        pins[resource.name] = hash_file(f"resource {resource.name}", file, ANYWHERE).sha256
    return pins


def _resource_file(resource: ExpandedResource, place: Path) -> Path:
    """Where a resource lies: in or beside its checkpoint, or where its source is a file, that file."""
    if resource.file is None:
        return place
    return (place if place.is_dir() else place.parent) / resource.file


def _say_faults(faults: tuple[LocatedFault, ...]) -> None:
    say_document({"faults": [asdict(fault) for fault in faults]})
