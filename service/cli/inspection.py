"""`ninforge inspect`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal

from schemas.minimum_reader import minimum_reader
from service.cli.consoles import counted, say, say_document, say_table, sized
from service.cli.options import JsonOption
from service.cli.verdict import say_verdict
from service.inspection_document import found_strays, inspection_document
from workers.engine.container.directory import ForeignObject, StoredObject, TensorObject
from workers.engine.container.front import Artifact
from workers.engine.container.reader import ArtifactReader
from workers.engine.execution import judge_description

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A .ninfer artifact; of several files the entry.")]


def add_commands(application: typer.Typer) -> None:
    application.command()(inspect)


def inspect(file: FileArgument, as_json: JsonOption = False) -> None:
    """Show directory and structure of an artifact, and bytes in it that belong to nothing."""
    with ArtifactReader(file) as reader:
        artifact = reader.artifact
        strays = found_strays(reader)
    if as_json:
        say_document(inspection_document(artifact, artifact.slices, strays))
    else:
        _show(artifact, strays)


def _show(artifact: Artifact, strays: list[str]) -> None:
    _show_identity(artifact)
    objects, files = counted(len(artifact.objects), "object"), counted(len(artifact.slices), "file")
    say(f"{objects}, {sized(artifact.file_bytes)} in {files}, payload at byte {artifact.payload_offset}")
    say(f"opens in {minimum_reader(artifact.framing)}")
    say_table(("object", "shape", "format", "offset", "bytes", "size"), [_row(stored) for stored in artifact.objects])
    for stray in strays:
        say(f"stray: {stray}")


def _show_identity(artifact: Artifact) -> None:
    if artifact.identity is not None:
        weights = "" if artifact.identity.weights_id is None else f" / {artifact.identity.weights_id}"
        say(f"{artifact.identity.model_id}{weights}, framing {artifact.framing:d}")
    if artifact.model is not None:
        description = artifact.model.description
        say(f"{artifact.model.metadata.get('name', 'no name')}, framing {artifact.framing:d}")
        say(f"artifact id {(artifact.prefix.artifact_id or b'').hex()}")
        bindings, uses = counted(len(description.bindings), "binding"), counted(len(description.uses), "use")
        say(f"components {', '.join(description.components)}; {bindings}, {uses}")
        execution = judge_description(description, artifact.objects)
        say_verdict(execution.verdict, execution.reasons)


def _row(stored: StoredObject) -> tuple[str | int, ...]:
    shape = "" if stored.shape is None else str(list(stored.shape))
    match stored:
        case TensorObject():
            format = stored.format.value
        case ForeignObject():
            format = f"{stored.format or stored.layout}, which is not known"
        case _:
            format = stored.encoding.value
    return stored.name, shape, format, stored.offset, stored.bytes, decimal(stored.bytes)
