"""The command's front door: subcommands, exit codes, and where errors go."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from schemas.errors import NinforgeError
from service.cli import conversion, inspection, recipes, running, verification
from service.cli.consoles import say_error
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
            say_error(str(error))
        except BrokenPipeError:
            raise  # whoever read the output wants no more of it, and no message either
        except OSError as error:
            say_error(": ".join(str(part) for part in (error.filename, error.strerror or error) if part is not None))
        except InterruptedBySignal as interruption:
            say_error("interrupted")
            raise typer.Exit(interruption.exit_code) from None
        raise typer.Exit(EXIT_FAULT)


application = typer.Typer(
    name="ninforge",
    cls=_Commands,
    help="Turns model checkpoints into verified .ninfer artifacts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help and usage errors: nothing boxed, coloured or wrapped
)
for module in (running, conversion, inspection, verification):
    module.add_commands(application)
application.add_typer(recipes.application, name="recipe")


def main() -> None:
    """Runs the command and exits."""
    raise_on_signals()
    if isinstance(sys.stdout, io.TextIOWrapper):  # absent where the caller closed it
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        application()
    except SystemExit as end:
        sys.exit(end.code if _flushed() else EXIT_FAULT)


def _flushed() -> bool:
    """Whether standard output took everything. If not, the interpreter is kept from trying again as it ends."""
    if sys.stdout is None:
        return True
    try:
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            say_error(f"standard output: {error.strerror}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True
