"""`ninforge verify`, in its three forms: an artifact by itself, against its report, against recipe and sources."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from service.cli.consoles import counted, say, say_document, sized
from service.cli.inspection import FileArgument
from service.cli.options import (
    ArtifactIdOption,
    JsonOption,
    LetOption,
    ResourceOption,
    SourceOption,
    ThreadsOption,
    integers_by_name,
    places_by_name,
    thread_count,
    usage_error,
)
from service.cli.progress import Phase, watched
from service.cli.recipe_argument import given_recipe
from service.cli.report_file import hold_to_report, read_report
from service.cli.verdict import say_verdict
from workers.engine.artifact_identity import artifact_id as artifact_id_of
from workers.engine.container.directory import Framing
from workers.engine.container.front import Artifact
from workers.engine.container.reader import read_artifact
from workers.engine.execution import judge_description
from workers.engine.packaging import Packaging
from workers.engine.plan import Plan

NOT_SHOWN = "that the words are those of any checkpoint (give --recipe and --source)"


@dataclass(frozen=True, slots=True)
class _Held:
    """Digests in hexadecimal of files that passed and of their payloads; what was shown of them, and what was not, in
    words."""

    sha256: tuple[str, ...]
    payload_blake3: tuple[str, ...]
    shown: tuple[str, ...]
    not_shown: tuple[str, ...]


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
    artifact_id: ArtifactIdOption = None,
    resource: ResourceOption = None,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check an artifact: by itself, against its report, or against recipe and sources."""
    if recipe is None and (source or let or resource or artifact_id):
        usage_error("--source, --let, --artifact-id and --resource: expected --recipe with them, found none")
    places, resources = places_by_name(source, "--source"), places_by_name(resource, "--resource")
    integers = integers_by_name(let, "--let")
    reported = None if report is None else read_report(report)
    artifact = read_artifact(file)
    if recipe is None:
        held = _by_itself(artifact, file, thread_count(threads))
    else:
        from service.cli.fetching import GivenPlaces

        sources = GivenPlaces.of(given_recipe(recipe).require(integers), places, resources)
        planned = sources.plan(_packaging(artifact, artifact_id), lambda _: None)
        held = _against_sources(planned, file, thread_count(threads))
    shown = list(held.shown)
    not_shown = list(held.not_shown)
    if reported is not None:
        hold_to_report(artifact, held.sha256, held.payload_blake3, reported)
        payloads = counted(len(reported.objects), "payload")
        files = counted(len(held.sha256), "file")
        shown.append(f"size and SHA-256 of {files} and BLAKE3 of {payloads} are those of the report")
        if reported.verification.coverage == "none":
            not_shown.append("anything by the conversion itself, which its report calls not verified")
    description = artifact.description
    verdict = None if description is None else judge_description(description, artifact.objects)
    if as_json:
        say_document(
            {
                "sha256": held.sha256[0],
                "bytes": artifact.file_bytes,
                "parts": _parts(artifact, held.sha256),
                "execution": None if verdict is None else {"verdict": verdict.verdict, "reasons": verdict.reasons},
                "shown": shown,
                "not_shown": not_shown,
            }
        )
    else:
        _say_held(file, artifact, held.sha256, shown, not_shown)
        if verdict is not None:
            say_verdict(verdict.verdict, verdict.reasons)


def _by_itself(artifact: Artifact, file: Path, threads: int) -> _Held:
    from workers.engine.verify.legality import verify_words

    payload_bytes = sum(stored.bytes for stored in artifact.objects)
    with watched(Phase("verifying", payload_bytes)) as (observer,):
        legal = verify_words(file, threads=threads, observer=observer)
    gaps = "gaps where they must be zero" if legal.free else "zero gaps"
    shown = [f"structure, {gaps}, and that every stored word is one that its format allows"]
    if artifact.description is not None:
        shown.append("what its architecture asks: parameters bound, uses, policies, divisors, token ids, resources")
    not_shown = [NOT_SHOWN, *(f"what is in bytes that may be anything: {stray}" for stray in legal.free)]
    not_shown += [f"anything of the {one}, which its architecture does not know" for one in legal.passed_over]
    return _Held(legal.digests.sha256, legal.digests.payload_blake3, tuple(shown), tuple(not_shown))


def _against_sources(planned: Plan, file: Path, threads: int) -> _Held:
    from workers.engine.verify import Coverage, verify_artifact

    payload_bytes = sum(one.bytes for one in planned.objects)
    with watched(Phase("verifying", payload_bytes)) as (observer,):
        verification = verify_artifact(
            planned,
            file,
            coverage=Coverage.FULL,
            threads=threads,
            observer=observer,
            artifact_id=_artifact_id(planned, threads),
        )
    shown = ["every byte outside the payloads", "every word of every payload, derived again from recipe and sources"]
    if planned.recipe.let_overridden:
        shown.append("all of it with `let` values overridden, which makes no claim to the recipe's target")
    return _Held(verification.sha256, tuple(one.payload_blake3 for one in verification.objects), tuple(shown), ())


def _packaging(artifact: Artifact, artifact_id: bytes | None) -> Packaging:
    """How the artifact says that it is packed. A file that is followed by another is as long as any may be."""
    part_bytes = artifact.slices[0].file_bytes if len(artifact.slices) > 1 else None
    return Packaging(int(artifact.framing), part_bytes, artifact_id)


def _artifact_id(planned: Plan, threads: int) -> bytes | None:
    """The id that the artifact must have: it takes a digest of every source tensor, unless one is given."""
    from workers.engine.verify.source_digests import source_digests

    if planned.framing is not Framing.THREE or planned.arrangement.artifact_id is not None:
        return planned.arrangement.artifact_id
    return artifact_id_of(planned, source_digests(planned, threads=threads))


def _parts(artifact: Artifact, sha256: tuple[str, ...]) -> list[dict[str, object]]:
    return [
        {"name": one.name, "bytes": one.file_bytes, "sha256": digest}
        for one, digest in zip(artifact.slices, sha256, strict=True)
    ]


def _say_held(file: Path, artifact: Artifact, sha256: tuple[str, ...], shown: list[str], not_shown: list[str]) -> None:
    for line in shown:
        say(f"ok: {line}")
    for line in not_shown:
        say(f"not shown: {line}")
    for one, digest in zip(artifact.slices, sha256, strict=True):
        say(f"{file.with_name(one.name) if one.name else file}: {sized(one.file_bytes)}, SHA-256 {digest}")
