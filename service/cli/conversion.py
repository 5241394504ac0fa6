"""`ninforge convert` and `ninforge plan`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

from schemas.errors import OutputError
from schemas.report import ConversionReport
from service.cli.options import (
    FramingOption,
    JsonOption,
    LetOption,
    RecipeArgument,
    ResourceOption,
    SourceOption,
    ThreadsOption,
    framing_number,
    places,
    recipe,
    thread_count,
    usage_error,
)
from service.cli.progress import watched
from workers.engine.plan import Plan, plan_conversion
from workers.engine.sources.roots import ANYWHERE

Verify = Literal["full", "sample", "none"]
Device = Literal["auto", "cpu", "cuda"]


def add_commands(application: typer.Typer) -> None:
    application.command()(convert)
    application.command()(plan)


def convert(
    recipe_given: RecipeArgument,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The artifact to make.")],
    source: SourceOption = None,
    framing: FramingOption = "auto",
    let: LetOption = None,
    resource: ResourceOption = None,
    report: Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Also write the JSON report.")] = None,
    verify: Annotated[Verify, typer.Option("--verify", help="How much to verify before the file appears.")] = "full",
    device: Annotated[Device, typer.Option("--device", help="Where to encode.")] = "auto",
    threads: ThreadsOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Convert a checkpoint into an artifact in this process, and verify it."""
    # Kernels load only where they are needed: planning and help do without.
    from workers.engine.convert import Observers
    from workers.engine.convert import convert as convert_plan
    from workers.engine.verify import Coverage

    if device == "cuda":
        usage_error("--device: expected auto or cpu, found cuda, for which this build has no kernels")
    if report is not None and not force and report.exists():
        raise OutputError(str(report), expected="a name that is not taken (or --force)", found="an existing file")
    planned = plan_conversion(
        recipe(recipe_given, let),
        places(source, "--source"),
        resources=places(resource, "--resource"),
        framing=framing_number(framing),
        roots=ANYWHERE,
    )
    payload_bytes = sum(one.bytes for one in planned.objects)
    with watched(("converting", payload_bytes), ("verifying", payload_bytes if verify != "none" else 0)) as observers:
        made = convert_plan(
            planned,
            out,
            coverage=None if verify == "none" else Coverage(verify),
            threads=thread_count(threads),
            observers=Observers(*observers),
            overwrite=force,
        )
    if report is not None:
        report.write_text(made.model_dump_json(indent=1) + "\n")
    if as_json:
        print(made.model_dump_json(indent=1))  # noqa: T201 - the document that was asked for
    else:
        _show_result(made, planned, out)


def plan(
    recipe_given: RecipeArgument,
    source: SourceOption = None,
    framing: FramingOption = "auto",
    let: LetOption = None,
    resource: ResourceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell all that is known before a weight is read: offsets, exact size, what stays unused."""
    planned = plan_conversion(
        recipe(recipe_given, let),
        places(source, "--source"),
        resources=places(resource, "--resource"),
        framing=framing_number(framing),
        roots=ANYWHERE,
    )
    document = planned.document()
    if as_json:
        print(json.dumps(document.model_dump(mode="json"), indent=1))  # noqa: T201 - the document that was asked for
    else:
        _show_plan(planned)


def _show_plan(planned: Plan) -> None:
    console = Console(highlight=False)
    console.print(
        f"{planned.recipe.model_id} / {planned.recipe.weights_id}, framing {planned.framing:d}: "
        f"{len(planned.objects)} objects, {planned.file_bytes} bytes ({decimal(planned.file_bytes)}), "
        f"{planned.bits_per_weight:.3f} bits a weight"
    )
    console.print(_formats_table(planned))
    if planned.recipe.let_overridden:
        console.print("`let` values are overridden: this makes no claim to the recipe's target")
    for source, tensor in planned.unused:
        console.print(f"unused: {source}:{tensor}", markup=False)
    for source, tensor in planned.ignored:
        console.print(f"ignored: {source}:{tensor}, which no index maps", markup=False)
    for warning in planned.warnings:
        console.print(f"warning: {warning}", markup=False)


def _show_result(made: ConversionReport, planned: Plan, out: Path) -> None:
    console = Console(highlight=False)
    console.print(_formats_table(planned))
    console.print(f"{out}: {made.artifact.bytes} bytes, SHA-256 {made.artifact.sha256}", soft_wrap=True)
    match made.verification.coverage:
        case "full":
            console.print("verified: every row of every object")
        case "sample":
            console.print(f"verified: a sample of rows, seed {made.verification.seed}")
        case _:
            console.print("not verified")


def _formats_table(planned: Plan) -> Table:
    table = Table("format", "objects", "bytes")
    for name, size in planned.bytes_by_format.items():
        count = sum(1 for one in planned.objects if (one.format or one.layout) == name)
        table.add_row(name, str(count), str(size))
    return table
