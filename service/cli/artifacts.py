"""`ninforge inspect` and `ninforge verify`, in its three forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel, ValidationError
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

from schemas.errors import SourceError, VerificationError
from service.cli.options import (
    JsonOption,
    LetOption,
    ResourceOption,
    SourceOption,
    ThreadsOption,
    places,
    recipe,
    thread_count,
    usage_error,
)
from service.cli.progress import watched
from workers.engine.container.directory import StoredObject, TensorObject
from workers.engine.container.front import Artifact
from workers.engine.container.gaps import stray_bytes
from workers.engine.container.reader import ArtifactReader, read_artifact
from workers.engine.plan import plan_conversion
from workers.engine.sources.roots import ANYWHERE

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A .ninfer artifact.")]


class ReportedObject(BaseModel):
    """What a report says of one payload."""

    name: str
    payload_blake3: str


class ReportedArtifact(BaseModel):
    """What a report says of the file."""

    bytes: int
    sha256: str


class Report(BaseModel):
    """The members of a report that a file can be held to, whatever else it says."""

    artifact: ReportedArtifact
    objects: tuple[ReportedObject, ...]


def add_commands(application: typer.Typer) -> None:
    application.command()(inspect)
    application.command()(verify)


def inspect(file: FileArgument, as_json: JsonOption = False) -> None:
    """Show directory and structure of an artifact."""
    with ArtifactReader(file) as reader:
        artifact = reader.artifact
        strays = [str(stray) for stray in stray_bytes(reader)]
    if as_json:
        document = {
            "framing": int(artifact.framing),
            "minimum_reader": minimum_reader(artifact),
            "model_id": artifact.identity.model_id,
            "weights_id": artifact.identity.weights_id,
            "file_bytes": artifact.file_bytes,
            "payload_offset": artifact.payload_offset,
            "objects": [_members(stored) for stored in artifact.objects],
            "strays": strays,
        }
        print(json.dumps(document, indent=1))  # noqa: T201 - the document that was asked for
        return
    console = Console(highlight=False)
    weights = f" / {artifact.identity.weights_id}" if artifact.identity.weights_id is not None else ""
    console.print(f"{artifact.identity.model_id}{weights}", markup=False)
    console.print(f"{len(artifact.objects)} objects, {artifact.file_bytes} bytes ({decimal(artifact.file_bytes)})")
    console.print(f"for {minimum_reader(artifact)}")
    table = Table("object", "shape", "format", "offset", "bytes")
    for stored in artifact.objects:
        members = _members(stored)
        shape = str(members.get("shape", ""))
        table.add_row(stored.name, shape, str(members.get("format", "resource")), str(stored.offset), str(stored.bytes))
    console.print(table, markup=False)
    for stray in strays:
        console.print(f"stray: {stray}", markup=False)


def minimum_reader(artifact: Artifact) -> str:
    """Which engines open the file, in words."""
    return f"engines that load framing {artifact.framing:d}; engines that load framing 3 only do not open it"


def verify(
    file: FileArgument,
    report: Annotated[Path | None, typer.Option("--report", metavar="REPORT", help="Hold it to a report.")] = None,
    recipe_given: Annotated[str | None, typer.Option("--recipe", metavar="RECIPE", help="Hold it to a recipe.")] = None,
    source: SourceOption = None,
    let: LetOption = None,
    resource: ResourceOption = None,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check an artifact: by itself, against its report, or against recipe and sources."""
    if recipe_given is None and (source or let or resource):
        usage_error("--source, --let and --resource: expected --recipe with them, found none")
    artifact = read_artifact(file)
    sha256, payloads, shown = _verified(file, artifact, recipe_given, source, let, resource, thread_count(threads))
    if report is not None:
        _hold_to_report(artifact, sha256, payloads, report)
        shown.append(f"SHA-256 of the file and BLAKE3 of {len(payloads)} payloads are those of the report")
    if as_json:
        print(json.dumps({"sha256": sha256, "bytes": artifact.file_bytes, "checked": shown}, indent=1))  # noqa: T201
        return
    console = Console(highlight=False)
    for line in shown:
        console.print(f"ok: {line}", markup=False, soft_wrap=True)
    if recipe_given is None:
        console.print(
            "not shown: that the words are those of any checkpoint (give --recipe and --source)", soft_wrap=True
        )
    console.print(f"SHA-256 {sha256}", soft_wrap=True)


def _verified(
    file: Path,
    artifact: Artifact,
    recipe_given: str | None,
    source: list[str] | None,
    let: list[str] | None,
    resource: list[str] | None,
    threads: int,
) -> tuple[str, tuple[str, ...], list[str]]:
    """SHA-256 of the file, BLAKE3 of the payloads, and what held, in words."""
    from workers.engine.verify import Coverage, verify_artifact
    from workers.engine.verify.legality import verify_words

    payload_bytes = sum(stored.bytes for stored in artifact.objects)
    with watched(("verifying", payload_bytes)) as (observer,):
        if recipe_given is None:
            whole = verify_words(file, threads=threads, observer=observer)
            held = ["structure, zero gaps, and that every stored word is one that its format allows"]
            return whole.sha256, whole.payload_blake3, held
        planned = plan_conversion(
            recipe(recipe_given, let),
            places(source, "--source"),
            resources=places(resource, "--resource"),
            framing=int(artifact.framing),
            roots=ANYWHERE,
        )
        verification = verify_artifact(planned, file, coverage=Coverage.FULL, threads=threads, observer=observer)
    digests = tuple(one.payload_blake3 for one in verification.objects)
    held = ["every byte outside the payloads", "every word of every payload, derived again from recipe and sources"]
    return verification.sha256, digests, held


def _hold_to_report(artifact: Artifact, sha256: str, payloads: tuple[str, ...], path: Path) -> None:
    try:
        report = Report.model_validate_json(path.read_bytes())
    except OSError as error:
        raise SourceError(f"report {path}", expected="a readable file", found=str(error.strerror)) from None
    except ValidationError as error:
        first = error.errors()[0]
        at = "/".join(map(str, first["loc"]))
        raise SourceError(f"report {path}, member {at or '/'}", expected="a report", found=first["msg"]) from None
    names = tuple(stored.name for stored in artifact.objects)
    reported = tuple(one.name for one in report.objects)
    if names != reported:
        raise VerificationError("objects", expected=f"the {len(reported)} of the report", found=f"{len(names)} others")
    for stored, digest, one in zip(artifact.objects, payloads, report.objects, strict=True):
        if digest != one.payload_blake3:
            where = f"object {stored.name}, BLAKE3 of its payload"
            raise VerificationError(where, expected=f"{one.payload_blake3}, as reported", found=digest)
    if (artifact.file_bytes, sha256) != (report.artifact.bytes, report.artifact.sha256):
        raise VerificationError(
            "file",
            expected=f"{report.artifact.bytes} bytes with SHA-256 {report.artifact.sha256}, as reported",
            found=f"{artifact.file_bytes} bytes with SHA-256 {sha256}",
        )


def _members(stored: StoredObject) -> dict[str, object]:
    if isinstance(stored, TensorObject):
        return {
            "name": stored.name,
            "kind": "tensor",
            "shape": list(stored.shape),
            "format": stored.format.value,
            "layout": stored.layout.value,
            "offset": stored.offset,
            "bytes": stored.bytes,
        }
    return {
        "name": stored.name,
        "kind": "resource",
        "encoding": stored.encoding.value,
        "offset": stored.offset,
        "bytes": stored.bytes,
    }
