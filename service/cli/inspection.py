"""`ninforge inspect`."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal

from service.cli.consoles import counted, say, say_document, say_table, sized
from service.cli.options import JsonOption
from service.cli.readers import minimum_reader
from workers.engine.container.directory import StoredObject, TensorObject
from workers.engine.container.front import Artifact
from workers.engine.container.gaps import stray_bytes
from workers.engine.container.reader import ArtifactReader

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A .ninfer artifact.")]


def add_commands(application: typer.Typer) -> None:
    application.command()(inspect)


def inspect(file: FileArgument, as_json: JsonOption = False) -> None:
    """Show directory and structure of an artifact, and bytes in it that belong to nothing."""
    with ArtifactReader(file) as reader:
        artifact = reader.artifact
        strays = [str(stray) for stray in stray_bytes(reader)]
    if as_json:
        say_document(_document(artifact, strays))
    else:
        _show(artifact, strays)


def _document(artifact: Artifact, strays: list[str]) -> dict[str, object]:
    return {
        "framing": int(artifact.framing),
        "minimum_reader": int(artifact.framing),
        "model_id": artifact.identity.model_id,
        "weights_id": artifact.identity.weights_id,
        "file_bytes": artifact.file_bytes,
        "payload_offset": artifact.payload_offset,
        "directory_sha256": sha256(artifact.directory).hexdigest(),
        "objects": [_members(stored) for stored in artifact.objects],
        "strays": strays,
    }


def _members(stored: StoredObject) -> dict[str, object]:
    """An object as the directory spells it (container.md, Directory)."""
    place = {"offset": stored.offset, "bytes": stored.bytes}
    if isinstance(stored, TensorObject):
        return {
            "name": stored.name,
            "kind": "tensor",
            "shape": list(stored.shape),
            "format": stored.format.value,
            "layout": stored.layout.value,
            **place,
        }
    return {"name": stored.name, "kind": "resource", "encoding": stored.encoding.value, **place}


def _show(artifact: Artifact, strays: list[str]) -> None:
    identity = artifact.identity
    weights = "" if identity.weights_id is None else f" / {identity.weights_id}"
    say(f"{identity.model_id}{weights}, framing {artifact.framing:d}")
    objects = counted(len(artifact.objects), "object")
    say(f"{objects}, {sized(artifact.file_bytes)}, payload at byte {artifact.payload_offset}")
    say(minimum_reader(artifact.framing))
    say_table(("object", "shape", "format", "offset", "bytes", "size"), [_row(stored) for stored in artifact.objects])
    for stray in strays:
        say(f"stray: {stray}")


def _row(stored: StoredObject) -> tuple[str | int, ...]:
    if isinstance(stored, TensorObject):
        shape, format = str(list(stored.shape)), stored.format.value
    else:
        shape, format = "", stored.encoding.value
    return stored.name, shape, format, stored.offset, stored.bytes, decimal(stored.bytes)
