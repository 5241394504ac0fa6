"""`ninforge dev miniature`: for those who work on ninforge or on an engine."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from service.cli.consoles import say
from workers.engine.miniature import SEED, Miniature, write_miniature
from workers.engine.recipe.registered import load_registered

application = typer.Typer(
    help="Tools for those who work on ninforge or an engine.", no_args_is_help=True, rich_markup_mode=None
)
_MAX_SEED = 2**32 - 1


@application.callback()
def _front() -> None:
    """Keeps `miniature` a subcommand though it is the only one."""


@application.command()
def miniature(
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="A registered target: its recipe's id, or model_id/weights_id.")
    ],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="A folder that is not there yet, or empty."),
    ],
    seed: Annotated[int, typer.Option("--seed", min=0, max=_MAX_SEED, help="Another number gives other words.")] = SEED,
) -> None:
    """Write small checkpoints of a registered target with a recipe for them, and print the commands that convert them.

    Every tensor, config and resource is there, at sizes at which each word can be checked. The same target and seed
    give the same bytes.
    """
    made = write_miniature(target.replace("/", "."), out, seed=seed)
    say(_convert_command(str(made.recipe), made, {}))
    if all(resource.sha256 is None for resource in load_registered(made.id).resources):
        say(_convert_command(made.id, made, made.let))


def _convert_command(recipe: str, made: Miniature, let: Mapping[str, int]) -> str:
    words = ["ninforge", "convert", recipe]
    for name, value in let.items():
        words += ["--let", f"{name}={value}"]
    for source, place in made.places.items():
        words += ["--source", f"{source}={place}"]
    return shlex.join([*words, "--out", str(made.recipe.with_name(f"{made.id}.ninfer"))])
