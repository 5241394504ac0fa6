"""`ninforge up`, `ninforge serve`, `ninforge worker` and `ninforge db upgrade`: the service's processes."""

from __future__ import annotations

from contextlib import closing, suppress

import typer
from pydantic import ValidationError

from schemas.errors import Fault, SettingsError
from workers.settings import Settings

database = typer.Typer(help="The service's database.", no_args_is_help=True, rich_markup_mode=None)


def add_commands(application: typer.Typer) -> None:
    application.command()(up)
    application.command()(serve)
    application.command()(worker)
    application.add_typer(database, name="db")


def up() -> None:
    """Run the whole service: API and one worker, until interrupted. Settings are NINFORGE_* variables."""
    from service.embedded import run_embedded

    run_embedded(settings(), announce)


def serve() -> None:
    """Run the API of a cluster, until interrupted."""
    from service.server import run_server

    with suppress(KeyboardInterrupt):
        run_server(settings(), announce)


def worker() -> None:
    """Run one worker of a cluster, until interrupted."""
    from workers.process import run_worker

    raise typer.Exit(run_worker(settings()))


@database.command("upgrade")
def upgrade() -> None:
    """Bring the database of a cluster up to date."""
    from workers.database import Database
    from workers.storage import Storage

    found = settings()
    Storage(found.data).prepare()
    with closing(Database.of(found)) as opened:
        opened.upgrade()


def announce(address: str) -> None:
    """Prints where the service is."""
    typer.echo(f"ninforge is at {address}")


def settings() -> Settings:
    """The settings of the environment. Raises SettingsError with every variable that is wrong."""
    try:
        return Settings()
    except ValidationError as error:
        faults = [Fault(_variable(one["loc"]), f"{one['msg']}, found {one['input']!r}") for one in error.errors()]
        raise SettingsError("environment", faults, expected="NINFORGE_* variables that the service takes") from None


def _variable(location: tuple[int | str, ...]) -> str:
    return "_".join(("NINFORGE", *map(str, location))).upper()
