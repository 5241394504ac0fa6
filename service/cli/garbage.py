"""`ninforge gc`: shows, and if asked to removes, what lies in the data folder that nothing needs."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from typing import Annotated

import typer

from service.cli.consoles import counted, say, say_document, say_table, sized
from service.cli.options import JsonOption
from service.cli.running import answering_database, settings


def add_commands(application: typer.Typer) -> None:
    application.command()(gc)


def gc(
    delete: Annotated[bool, typer.Option("--delete", help="Remove it; without this it is only shown.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show work files that no job has, stored files that no artifact has, and fetched ones that no job needs any more,
    and remove them if told to.

    A service may run meanwhile. Settings are NINFORGE_* variables, as for the service itself.
    """
    from workers.database import Database
    from workers.garbage import find_garbage, remove_garbage
    from workers.storage import Storage

    found = settings()
    storage = Storage(found.data)
    with answering_database(), closing(Database.existing(found)) as database:
        garbage = find_garbage(database, storage)
        for one in garbage if delete else ():
            remove_garbage(database, storage, one)
    total = sum(one.bytes for one in garbage)
    if as_json:
        say_document({"deleted": delete, "bytes": total, "items": [asdict(one) for one in garbage]})
        return
    if garbage:
        say_table(("kind", "name", "bytes"), [(one.kind, one.name, one.bytes) for one in garbage])
    say(f"{'removed' if delete else 'to remove with --delete'}: {counted(len(garbage), 'item')}, {sized(total)}")
