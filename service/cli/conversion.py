"""`ninforge convert` and `ninforge plan`."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.filesize import decimal

from schemas.minimum_reader import minimum_reader
from schemas.report import ConversionReport
from service.cli.consoles import counted, say, say_document, say_table, sized
from service.cli.devices import DeviceOption, encoders_on
from service.cli.options import (
    ArtifactIdOption,
    FramingOption,
    JsonOption,
    LetOption,
    PartBytesOption,
    RecipeArgument,
    ResourceOption,
    SourceOption,
    ThreadsOption,
    integers_by_name,
    packaging_of,
    places_by_name,
    thread_count,
    usage_error,
)
from service.cli.output_places import (
    ForceOption,
    ReportOption,
    check_output,
    parse_output,
    pending_file,
    publish_report,
    refuse_inputs,
    same_place,
    say_stale,
)
from service.cli.progress import Phase, watched
from service.cli.recipe_argument import given_recipe
from service.cli.verdict import say_verdict
from workers.engine.container.writer import artifact_paths
from workers.engine.execution import require_executable
from workers.engine.plan import Plan

Verify = Literal["full", "sample", "none"]

LISTED_TENSORS = 20
"""Unused tensors that are told one by one."""

MAX_BLOCK_BYTES = 1 << 30
NOT_VERIFIED = "not verified: --verify none was asked for"


def add_commands(application: typer.Typer) -> None:
    application.command()(convert)
    application.command()(plan)


def convert(
    recipe: RecipeArgument,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", parser=parse_output, help="The artifact to make.")],
    source: SourceOption = None,
    framing: FramingOption = "auto",
    part_bytes: PartBytesOption = None,
    artifact_id: ArtifactIdOption = None,
    let: LetOption = None,
    resource: ResourceOption = None,
    report: ReportOption = None,
    verify: Annotated[
        Verify, typer.Option("--verify", help="How many rows to verify before the artifact appears.")
    ] = "full",
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    block_bytes: Annotated[
        int | None,
        typer.Option(
            "--block-bytes",
            metavar="N",
            min=1,
            max=MAX_BLOCK_BYTES,
            help="Bytes that a thread reads and makes at a time; 3.5 MiB by default. The artifact is always the same.",
        ),
    ] = None,
    allow_unexecutable: Annotated[
        bool, typer.Option("--allow-unexecutable", help="Make it even if engines load it and fail at start.")
    ] = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Convert a checkpoint into an artifact in this process, and verify it."""
    # Kernels, and what asks other hosts, load only where they are needed: help does without.
    from service.cli.fetching import GivenPlaces
    from workers.engine.convert import Observers
    from workers.engine.convert import convert as convert_plan
    from workers.engine.encode import BLOCK_BYTES
    from workers.engine.verify import Coverage

    encoders = encoders_on(device)
    if report is not None and same_place(report, out):
        usage_error(f"--report: expected another file than that of --out, found {str(report)!r}")
    places, resources = places_by_name(source, "--source"), places_by_name(resource, "--resource")
    integers = integers_by_name(let, "--let")
    for output in (out, *([] if report is None else [report])):
        check_output(output, force=force)
    given = given_recipe(recipe)
    made_of = given.require(integers)
    packaging = packaging_of(framing, part_bytes, artifact_id)
    sources = GivenPlaces.of(made_of, places, resources)

    def judge(found: Plan) -> None:
        if not allow_unexecutable:
            require_executable(made_of, found.execution)

    planned = sources.plan(packaging, judge)
    judge(planned)
    outputs = artifact_paths(out, planned.arrangement)
    for output in outputs[1:]:
        check_output(output, force=force)
    refuse_inputs(planned, given.file, outputs if report is None else [*outputs, report])
    with ExitStack() as stack:
        publish = None if report is None else stack.enter_context(pending_file(report, force=force))
        observers = stack.enter_context(watched(*_phases(planned, verify)))
        made = convert_plan(
            planned,
            out,
            coverage=None if verify == "none" else Coverage(verify),
            threads=thread_count(threads),
            observers=Observers(encoding=observers[0], verifying=observers[-1]),
            overwrite=force,
            block_bytes=block_bytes or BLOCK_BYTES,
            encoders=encoders,
        )
        made = made.model_copy(update={"fetched": sources.fetched()})
        if verify == "none":
            made = made.model_copy(update={"warnings": (*made.warnings, NOT_VERIFIED)})
        if publish is not None:
            publish_report(made, publish, out)
    if as_json:
        say_document(made.model_dump(mode="json"))
    else:
        _show_result(made, planned, out)


def plan(
    recipe: RecipeArgument,
    source: SourceOption = None,
    framing: FramingOption = "auto",
    part_bytes: PartBytesOption = None,
    artifact_id: ArtifactIdOption = None,
    let: LetOption = None,
    resource: ResourceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell all that is known before a weight is read: offsets, exact size, what stays unused."""
    from service.cli.fetching import GivenPlaces

    places, resources = places_by_name(source, "--source"), places_by_name(resource, "--resource")
    integers = integers_by_name(let, "--let")
    sources = GivenPlaces.of(given_recipe(recipe).require(integers), places, resources)
    planned = sources.plan_from_headers(packaging_of(framing, part_bytes, artifact_id))
    if as_json:
        say_document(planned.document().model_dump(mode="json"))
    else:
        _show_plan(planned)


def _phases(planned: Plan, verify: Verify) -> list[Phase]:
    """What is to be watched. How much a sample will cover is not known before its rows are drawn."""
    payload_bytes = sum(one.bytes for one in planned.objects)
    phases = [Phase("converting", payload_bytes)]
    if verify != "none":
        phases.append(Phase("verifying", payload_bytes if verify == "full" else None))
    return phases


def _show_plan(planned: Plan) -> None:
    objects = counted(len(planned.objects), "object")
    say(f"{planned.recipe.model_id} / {planned.recipe.weights_id}, framing {planned.framing:d}")
    files = counted(len(planned.arrangement.slices), "file")
    say(f"{objects}, {sized(planned.file_bytes)} in {files}, {planned.bits_per_weight:.3f} bits a weight")
    _show_engines(planned)
    _show_formats(planned)
    if planned.recipe.let_overridden:
        say("`let` values are overridden: this makes no claim to the recipe's target")
    _show_unused(planned)
    for source, tensor in planned.ignored:
        say(f"ignored: {source}:{tensor}, which no index maps")
    for warning in planned.warnings:
        say(f"warning: {warning}")


def _show_unused(planned: Plan) -> None:
    """Each unused tensor by its name, or, of many, how many there are in each source."""
    if len(planned.unused) <= LISTED_TENSORS:
        for source, tensor in planned.unused:
            say(f"unused: {source}:{tensor}")
        return
    for source, count in Counter(source for source, _ in planned.unused).items():
        say(f"unused: {counted(count, 'tensor')} of {source} (--json names them)")


def _show_result(made: ConversionReport, planned: Plan, out: Path) -> None:
    _show_formats(planned)
    for path, part in zip(artifact_paths(out, planned.arrangement), made.artifact.parts, strict=True):
        say(f"{path}: {sized(part.bytes)}, SHA-256 {part.sha256}")
    _show_engines(planned)
    if made.let_overridden:
        say("`let` values are overridden: this makes no claim to the recipe's target")
    match made.verification.coverage:
        case "full":
            say("verified: every row of every object")
        case "sample":
            say(f"verified: a sample of rows, seed {made.verification.seed}")
    for warning in made.warnings:
        say(f"warning: {warning}")
    if planned.inscription is not None:
        say_stale(artifact_paths(out, planned.arrangement), planned.inscription.entry_name)


def _show_engines(planned: Plan) -> None:
    say(f"opens in {minimum_reader(planned.framing)}")
    say_verdict(planned.execution.verdict, planned.execution.reasons)


def _show_formats(planned: Plan) -> None:
    counts = Counter(str(one.format or one.layout) for one in planned.objects)
    rows = [(name, counts[name], size, decimal(size)) for name, size in planned.bytes_by_format.items()]
    say_table(("format", "objects", "bytes", "size"), rows)
