"""The command's front door: subcommands, exit codes, and where errors go."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn

import typer
from rich.console import Console

from schemas.errors import NinforgeError
from service.cli import artifacts, conversion, recipes, running

EXIT_FAULT = 1
EXIT_INTERRUPTED = 130

application = typer.Typer(
    name="ninforge",
    help="Turns model checkpoints into verified .ninfer artifacts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for module in (running, conversion, artifacts):
    module.add_commands(application)
application.add_typer(recipes.application, name="recipe")


def main() -> None:
    """Runs the command: exit 0 on success, 1 on anything wrong with what it was given, 2 on a wrong command line."""
    signal.signal(signal.SIGTERM, _terminated)
    try:
        application()
    except NinforgeError as error:
        Console(stderr=True).print(f"error: {error}", markup=False, highlight=False, soft_wrap=True, style="bold red")
        sys.exit(EXIT_FAULT)
    except BrokenPipeError:
        sys.exit(EXIT_FAULT)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def _terminated(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Ends as an interrupt does, so that half-made files are removed."""
    raise KeyboardInterrupt
