"""`ninforge verify`, in its three forms: an artifact by itself, against its report, against recipe and sources."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from service.cli.consoles import counted, say, say_document, sized
from service.cli.inspection import FileArgument
from service.cli.options import (
    JsonOption,
    LetOption,
    ResourceOption,
    SourceOption,
    ThreadsOption,
    integers_by_name,
    paths_by_name,
    thread_count,
    usage_error,
)
from service.cli.progress import Phase, watched
from service.cli.recipe_argument import given_recipe
from service.cli.report_file import hold_to_report, read_report
from workers.engine.container.front import Artifact
from workers.engine.container.reader import read_artifact
from workers.engine.plan import Plan, plan_conversion
from workers.engine.sources.roots import ANYWHERE

NOT_SHOWN = "that the words are those of any checkpoint (give --recipe and --source)"


@dataclass(frozen=True, slots=True)
class _Held:
    """Digests in hexadecimal of a file that passed and of its payloads, and what was shown of it, in words."""

    sha256: str
    payload_blake3: tuple[str, ...]
    shown: tuple[str, ...]


def add_commands(application: typer.Typer) -> None:
    application.command()(verify)


def verify(
    file: FileArgument,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="REPORT", help="Hold it to the report of its conversion.")
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option("--recipe", metavar="RECIPE", help="Hold it to a recipe (an id or a file) and its sources."),
    ] = None,
    source: SourceOption = None,
    let: LetOption = None,
    resource: ResourceOption = None,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check an artifact: by itself, against its report, or against recipe and sources."""
    if recipe is None and (source or let or resource):
        usage_error("--source, --let and --resource: expected --recipe with them, found none")
    places, resources = paths_by_name(source, "--source"), paths_by_name(resource, "--resource")
    integers = integers_by_name(let, "--let")
    reported = None if report is None else read_report(report)
    artifact = read_artifact(file)
    if recipe is None:
        held = _by_itself(artifact, file, thread_count(threads))
    else:
        planned = plan_conversion(
            given_recipe(recipe).require(integers),
            places,
            resources=resources,
            framing=int(artifact.framing),
            roots=ANYWHERE,
        )
        held = _against_sources(planned, file, thread_count(threads))
    shown = list(held.shown)
    not_shown = [NOT_SHOWN] if recipe is None else []
    if reported is not None:
        hold_to_report(artifact, held.sha256, held.payload_blake3, reported)
        payloads = counted(len(reported.objects), "payload")
        shown.append(f"size and SHA-256 of the file and BLAKE3 of {payloads} are those of the report")
        if reported.verification.coverage == "none":
            not_shown.append("anything by the conversion itself, which its report calls not verified")
    if as_json:
        document = {"sha256": held.sha256, "bytes": artifact.file_bytes, "shown": shown, "not_shown": not_shown}
        say_document(document)
    else:
        _say_held(file, artifact, held.sha256, shown, not_shown)


def _by_itself(artifact: Artifact, file: Path, threads: int) -> _Held:
    from workers.engine.verify.legality import verify_words

    payload_bytes = sum(stored.bytes for stored in artifact.objects)
    with watched(Phase("verifying", payload_bytes)) as (observer,):
        whole = verify_words(file, threads=threads, observer=observer)
    shown = "structure, zero gaps, and that every stored word is one that its format allows"
    return _Held(whole.sha256, whole.payload_blake3, (shown,))


def _against_sources(planned: Plan, file: Path, threads: int) -> _Held:
    from workers.engine.verify import Coverage, verify_artifact

    payload_bytes = sum(one.bytes for one in planned.objects)
    with watched(Phase("verifying", payload_bytes)) as (observer,):
        verification = verify_artifact(planned, file, coverage=Coverage.FULL, threads=threads, observer=observer)
    shown = ["every byte outside the payloads", "every word of every payload, derived again from recipe and sources"]
    if planned.recipe.let_overridden:
        shown.append("all of it with `let` values overridden, which makes no claim to the recipe's target")
    return _Held(verification.sha256, tuple(one.payload_blake3 for one in verification.objects), tuple(shown))


def _say_held(file: Path, artifact: Artifact, sha256: str, shown: list[str], not_shown: list[str]) -> None:
    for line in shown:
        say(f"ok: {line}")
    for line in not_shown:
        say(f"not shown: {line}")
    say(f"{file}: {sized(artifact.file_bytes)}, SHA-256 {sha256}")
