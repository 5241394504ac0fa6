"""The command's front door: subcommands, exit codes, and where errors go."""

from __future__ import annotations

import io
import os
import sys
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from schemas.errors import NinforgeError
from service.cli import (
    conversion,
    dev,
    download,
    garbage,
    health,
    inspection,
    jobs,
    recipes,
    running,
    upgrade,
    verification,
)
from service.cli.consoles import say, tell_error, unwritable
from service.cli.interruption import InterruptedBySignal, raise_on_signals

EXIT_FAULT = 1


class _Commands(TyperGroup):
    """Turns what goes wrong into a message on standard error and an exit code.

    0 is success, 1 anything wrong with what the command was given, 2 a wrong command line; 128 and the signal's number
    where a signal ended it.
    """

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except NinforgeError as error:
            tell_error(str(error))
        except BrokenPipeError:
            raise  # whoever read the output wants no more of it, and no message either
        except OSError as error:
            tell_error(": ".join(str(part) for part in (error.filename, error.strerror or error) if part is not None))
        except InterruptedBySignal as interruption:
            tell_error("interrupted")
            raise typer.Exit(interruption.exit_code) from None
        raise typer.Exit(EXIT_FAULT)


def _say_version(wanted: bool) -> None:
    if wanted:
        say(f"ninforge {version('ninforge')}")
        raise typer.Exit


application = typer.Typer(
    name="ninforge",
    cls=_Commands,
    help="Turns model checkpoints into verified .ninfer artifacts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help and usage errors: nothing boxed, coloured or wrapped
)


@application.callback()
def _front(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Turns model checkpoints into verified .ninfer artifacts."""


for module in (running, conversion, inspection, verification, upgrade, jobs, download, garbage):
    module.add_commands(application)
application.add_typer(recipes.application, name="recipe")
application.add_typer(health.application, name="health")
application.add_typer(dev.application, name="dev", hidden=True)


def main() -> None:
    """Runs the command and exits."""
    raise_on_signals()
    if isinstance(sys.stdout, io.TextIOWrapper):  # absent where the caller closed it
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        application()
    except OSError as error:  # of help that could not be written
        sys.exit(_refused_output(error))
    except SystemExit as end:
        sys.exit(_flush() or end.code)


def _flush() -> int:
    """Exit code of passing on what standard output still holds."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        return _refused_output(error)
    return 0


def _refused_output(error: OSError) -> int:
    """Keeps the interpreter from trying once more as it ends, and says what went wrong unless the reader left."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error, BrokenPipeError):
        tell_error(str(unwritable(error)))
    return EXIT_FAULT
