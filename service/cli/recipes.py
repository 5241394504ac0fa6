"""`ninforge recipe list|show|check`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from service.cli.consoles import counted, say, say_document, say_table, say_text
from service.cli.options import JsonOption
from service.cli.recipe_argument import FaultyRecipe, LocatedFault, check_file, refuse
from workers.engine.recipe.document_text import read_text_document
from workers.engine.recipe.registered import load_registered, registered_ids, registered_text

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


def _say_faults(faults: tuple[LocatedFault, ...]) -> None:
    say_document({"faults": [asdict(fault) for fault in faults]})
