"""What is read out of an artifact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from schemas.interface.answers import Answer
from schemas.report import ExecutionRecord


class InspectedTensor(Answer):
    """A tensor in a directory. Format and layout are those of the registry, or as the file spells others."""

    name: str
    kind: Literal["tensor"]
    shape: tuple[int, ...]
    format: str | None
    layout: str
    offset: int
    bytes: int


class InspectedResource(Answer):
    """A resource in a directory."""

    name: str
    kind: Literal["resource"]
    encoding: str
    offset: int
    bytes: int


class InspectedPart(Answer):
    """One file of an artifact; the name of the entry, which is the first, is not in it."""

    name: str | None
    bytes: int


class Inspection(Answer):
    """Directory and structure of an artifact, as `ninforge inspect --json` gives them. Offsets count from the start of
    the payload. `strays` are bytes that belong to nothing. Of an uploaded beginning nothing is known of them, and in
    framings 1 and 2 nothing of the file's size."""

    framing: int
    minimum_reader: str
    file_bytes: int | None
    parts: tuple[InspectedPart, ...] | None
    payload_offset: int
    directory_sha256: str
    objects: tuple[Annotated[InspectedTensor | InspectedResource, Field(discriminator="kind")], ...]
    strays: tuple[str, ...] | None


class IdentityInspection(Inspection):
    """Of framing 1, which has no `weights_id`, or 2."""

    model_id: str
    weights_id: str | None


class ModelInspection(Inspection):
    """Of framing 3: the config of each component, and whether an engine runs the file."""

    artifact_id: str
    name: str | None
    components: Mapping[str, Mapping[str, Any]]
    bindings: int
    uses: int
    execution: ExecutionRecord
