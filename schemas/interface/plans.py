"""Plans of artifacts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from schemas.interface.answers import Answer
from schemas.report import ExecutionRecord, TensorReference


class PlannedObjectSummary(Answer):
    """One object of a plan. `shape` and `format` are None for a resource, whose `layout` is its encoding."""

    name: str
    kind: Literal["tensor", "resource"]
    shape: tuple[int, ...] | None
    format: str | None
    layout: str
    offset: int
    bytes: int


class PlannedPart(Answer):
    """One file of a planned artifact, the entry first, under the name that its download will have."""

    name: str
    bytes: int


class PlanDocument(Answer):
    """What is known before a weight is read. `file_bytes` is of all parts together. `unused` are source tensors that
    nothing uses and a pattern covers, `ignored` those that shards hold and their index does not map."""

    framing: int
    minimum_reader: str
    execution: ExecutionRecord
    objects: tuple[PlannedObjectSummary, ...]
    file_bytes: int
    parts: tuple[PlannedPart, ...]
    payload_offset: int
    directory_sha256: str
    bits_per_weight: float
    bytes_by_format: Mapping[str, int]
    let_overridden: bool
    unused: tuple[TensorReference, ...]
    ignored: tuple[TensorReference, ...]
    warnings: tuple[str, ...]
