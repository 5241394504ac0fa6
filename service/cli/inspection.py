"""`ninforge inspect`."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal

from schemas.errors import ArtifactError
from schemas.minimum_reader import minimum_reader
from service.cli.consoles import counted, say, say_document, say_table, sized
from service.cli.options import JsonOption
from service.cli.verdict import say_verdict
from workers.engine.container.directory import ForeignObject, ResourceObject, StoredObject, TensorObject
from workers.engine.container.front import Artifact
from workers.engine.container.gaps import stray_bytes
from workers.engine.container.model_records import ModelDirectory
from workers.engine.container.reader import ArtifactReader
from workers.engine.execution import Execution, judge_description

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A .ninfer artifact; of several files the entry.")]


def add_commands(application: typer.Typer) -> None:
    application.command()(inspect)


def inspect(file: FileArgument, as_json: JsonOption = False) -> None:
    """Show directory and structure of an artifact, and bytes in it that belong to nothing."""
    with ArtifactReader(file) as reader:
        artifact = reader.artifact
        strays = _strays(reader)
    if as_json:
        say_document(_document(artifact, strays))
    else:
        _show(artifact, strays)


def _strays(reader: ArtifactReader) -> list[str]:
    """What stands where nothing should, or, of files that cannot all be read, why."""
    try:
        return [str(stray) for stray in stray_bytes(reader)]
    except ArtifactError as error:
        return [f"not all looked at: {error}"]


def _document(artifact: Artifact, strays: list[str]) -> dict[str, object]:
    return {
        "framing": int(artifact.framing),
        "minimum_reader": minimum_reader(artifact.framing),
        **_identity_members(artifact),
        "file_bytes": artifact.file_bytes,
        "parts": [{"name": one.name, "bytes": one.file_bytes} for one in artifact.slices],
        "payload_offset": artifact.payload_offset,
        "directory_sha256": sha256(artifact.directory).hexdigest(),
        "objects": [_members(stored) for stored in artifact.objects],
        "strays": strays,
    }


def _identity_members(artifact: Artifact) -> dict[str, object]:
    if artifact.identity is not None:
        return {"model_id": artifact.identity.model_id, "weights_id": artifact.identity.weights_id}
    return {} if artifact.model is None else _model_members(artifact, artifact.model)


def _model_members(artifact: Artifact, model: ModelDirectory) -> dict[str, object]:
    execution = _execution(artifact, model)
    return {
        "artifact_id": (artifact.prefix.artifact_id or b"").hex(),
        "name": model.metadata.get("name"),
        "components": {name: dict(one.config) for name, one in model.description.components.items()},
        "bindings": len(model.description.bindings),
        "uses": len(model.description.uses),
        "execution": {"verdict": execution.verdict, "reasons": execution.reasons},
    }


def _execution(artifact: Artifact, model: ModelDirectory) -> Execution:
    return judge_description(model.description, artifact.objects)


def _members(stored: StoredObject) -> dict[str, object]:
    """An object by the names of the registry; one whose encoding is not there as the directory spells it."""
    place = {"offset": stored.offset, "bytes": stored.bytes}
    if isinstance(stored, ResourceObject):
        return {"name": stored.name, "kind": "resource", "encoding": stored.encoding.value, **place}
    if stored.shape is None:
        return {"name": stored.name, "kind": "resource", "encoding": stored.layout, **place}
    what = {"shape": list(stored.shape), "format": stored.format, "layout": stored.layout}
    return {"name": stored.name, "kind": "tensor", **what, **place}


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
        execution = _execution(artifact, artifact.model)
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
