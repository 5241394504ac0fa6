"""`ninforge up`, `ninforge serve`, `ninforge worker` and `ninforge db upgrade`: the service's processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

import typer
from alembic.util.exc import CommandError
from pydantic import ValidationError
from pydantic_settings import BaseSettings
from sqlalchemy.exc import SQLAlchemyError

from schemas.errors import Fault, OutputError, SettingsError
from workers.settings import Settings

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Found = TypeVar("Found", bound=BaseSettings)

database = typer.Typer(help="The service's database.", no_args_is_help=True, rich_markup_mode=None)


def add_commands(application: typer.Typer) -> None:
    application.command()(up)
    application.command()(serve)
    application.command()(worker)
    application.add_typer(database, name="db")


def up() -> None:
    """Run the whole service: API and one worker, until interrupted. Settings are NINFORGE_* variables."""
    from service.embedded import run_embedded

    with answering_database():
        run_embedded(settings(), announce)


def serve() -> None:
    """Run the API of a cluster, until interrupted."""
    from service.server import run_server

    with suppress(KeyboardInterrupt), answering_database():
        run_server(settings(), announce)


def worker() -> None:
    """Run one worker of a cluster, until interrupted."""
    from workers.process import run_worker

    with answering_database():
        raise typer.Exit(run_worker(settings()))


@database.command("upgrade")
def upgrade() -> None:
    """Bring the database of a cluster up to date."""
    from workers.database import Database
    from workers.storage import Storage

    found = settings()
    Storage(found.data).prepare()
    with answering_database(), closing(Database.of(found)) as opened:
        opened.upgrade()
        typer.echo(f"up to date: {opened.engine.url.render_as_string(hide_password=True)}")


def announce(address: str) -> None:
    """Prints where the service is."""
    typer.echo(f"ninforge is at {address}")


def settings() -> Settings:
    """The service's settings in the environment. Raises SettingsError with every variable that is wrong."""
    return settings_of(Settings)


def settings_of(kind: type[Found]) -> Found:
    """Settings in the environment. Raises SettingsError with every variable that is wrong."""
    try:
        return kind()
    except ValidationError as error:
        faults = [Fault(_variable(one["loc"]), _message(one)) for one in error.errors()]
        raise SettingsError("environment", faults, expected="NINFORGE_* variables that the service takes") from None


def _message(error: ErrorDetails) -> str:
    """What is wrong with one setting: in the words of the settings class where it has some."""
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    return f"{error['msg']}, found {error['input']!r}"


@contextmanager
def answering_database() -> Iterator[None]:
    """Tells of a database that does not answer as of any other fault, without a traceback."""
    try:
        yield
    except (SQLAlchemyError, CommandError) as error:
        found = str(error.__cause__ or error).strip().splitlines()[0]
        raise OutputError(
            "database", expected="one that this version can use (NINFORGE_DATABASE_URL)", found=found
        ) from None


def _variable(location: tuple[int | str, ...]) -> str:
    return "_".join(("NINFORGE", *map(str, location))).upper()
