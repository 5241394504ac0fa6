"""`ninforge recipe list|show|check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from schemas.errors import RecipeError
from service.cli.options import JsonOption
from workers.engine.recipe.document_text import read_text_document
from workers.engine.recipe.load import read_recipe
from workers.engine.recipe.registered import load_registered, registered_ids, registered_text

application = typer.Typer(help="Registered recipes, and checks of your own.", no_args_is_help=True)


@application.command("list")
def list_recipes(as_json: JsonOption = False) -> None:
    """List the registered recipes."""
    loaded = [load_registered(name) for name in registered_ids()]
    if as_json:
        rows = [{"id": one.id, "revision": one.revision, "title": one.title, "sha256": one.sha256} for one in loaded]
        print(json.dumps(rows, indent=1))  # noqa: T201 - the document that was asked for
        return
    table = Table("id", "revision", "objects", "title")
    for one in loaded:
        table.add_row(one.id, str(one.revision), str(len(one.objects) + len(one.resources)), one.title or "")
    Console(highlight=False).print(table)


@application.command()
def show(name: Annotated[str, typer.Argument(metavar="ID")], as_json: JsonOption = False) -> None:
    """Print a registered recipe."""
    text = registered_text(name)
    print(json.dumps(read_text_document(text, where=name).data, indent=1) if as_json else text.rstrip())  # noqa: T201


@application.command()
def check(file: Annotated[Path, typer.Argument(metavar="FILE")], as_json: JsonOption = False) -> None:
    """Check a recipe and list every fault at once."""
    try:
        checked = read_recipe(file)
    except RecipeError as error:
        if not as_json:
            raise
        faults = [{"at": fault.at, "message": fault.message} for fault in error.faults]
        print(json.dumps({"faults": faults}, indent=1))  # noqa: T201 - the document that was asked for
        raise typer.Exit(1) from None
    if as_json:
        document = {"id": checked.id, "revision": checked.revision, "sha256": checked.sha256, "faults": []}
        print(json.dumps(document, indent=1))  # noqa: T201 - the document that was asked for
        return
    objects = len(checked.objects) + len(checked.resources)
    Console(highlight=False).print(
        f"{file}: no faults; {checked.id} revision {checked.revision}, {objects} objects, SHA-256 {checked.sha256}",
        markup=False,
        soft_wrap=True,
    )
