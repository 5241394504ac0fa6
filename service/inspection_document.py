"""Directory and structure of an artifact as one JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from schemas.errors import ArtifactError
from schemas.minimum_reader import minimum_reader
from workers.engine.container.directory import ResourceObject, StoredObject
from workers.engine.container.front import Front
from workers.engine.container.gaps import gaps, stray_bytes
from workers.engine.container.model_records import ModelDirectory
from workers.engine.container.reader import ArtifactReader
from workers.engine.container.slices import Slice
from workers.engine.execution import judge_description

InspectionDocument = Mapping[str, Any]
"""As schemas/interface describes an Inspection."""


def inspection_document(
    front: Front, slices: Sequence[Slice] | None, strays: Sequence[str] | None
) -> InspectionDocument:
    """The document. Of a front alone, files and strays may not be known."""
    return {
        "framing": int(front.framing),
        "minimum_reader": minimum_reader(front.framing),
        **_identity_members(front),
        "file_bytes": None if slices is None else sum(one.file_bytes for one in slices),
        "parts": None if slices is None else [{"name": one.name, "bytes": one.file_bytes} for one in slices],
        "payload_offset": front.payload_offset,
        "directory_sha256": sha256(front.directory).hexdigest(),
        "objects": [_members(stored) for stored in front.objects],
        "strays": None if strays is None else list(strays),
    }


def found_strays(reader: ArtifactReader, *, most_bytes: int | None = None) -> list[str]:
    """What stands where nothing should, or why not all was looked at: files that cannot be read, or more than
    `most_bytes` to be looked at."""
    bytes_between = sum(gap.bytes for gap in gaps(reader.artifact))
    if most_bytes is not None and bytes_between > most_bytes:
        return [f"not looked at: expected at most {most_bytes} bytes between objects, found {bytes_between}"]
    try:
        return [str(stray) for stray in stray_bytes(reader)]
    except ArtifactError as error:
        return [f"not all looked at: {error}"]


def _identity_members(front: Front) -> dict[str, object]:
    if front.identity is not None:
        return {"model_id": front.identity.model_id, "weights_id": front.identity.weights_id}
    return {} if front.model is None else _model_members(front, front.model)


def _model_members(front: Front, model: ModelDirectory) -> dict[str, object]:
    execution = judge_description(model.description, front.objects)
    return {
        "artifact_id": (front.prefix.artifact_id or b"").hex(),
        "name": model.metadata.get("name"),
        "components": {name: dict(one.config) for name, one in model.description.components.items()},
        "bindings": len(model.description.bindings),
        "uses": len(model.description.uses),
        "execution": {"verdict": execution.verdict, "reasons": list(execution.reasons)},
    }


def _members(stored: StoredObject) -> dict[str, object]:
    """An object by the names of the registry; one whose encoding is not there as the directory spells it."""
    place = {"offset": stored.offset, "bytes": stored.bytes}
    if isinstance(stored, ResourceObject):
        return {"name": stored.name, "kind": "resource", "encoding": stored.encoding.value, **place}
    if stored.shape is None:
        return {"name": stored.name, "kind": "resource", "encoding": stored.layout, **place}
    what = {"shape": list(stored.shape), "format": stored.format, "layout": stored.layout}
    return {"name": stored.name, "kind": "tensor", **what, **place}
