"""What is recorded of a conversion: per-object provenance, verification, and the report beside the artifact.

The JSON names are those of interface.md.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Base of the report's parts: frozen, and closed to members that are not named."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceTensorRecord(Record):
    """One source tensor that an object is made of. `blake3` is that of its data bytes; `file` is the shard's name
    relative to the checkpoint."""

    source: str
    file: str
    tensor: str
    dtype: str
    shape: tuple[int, ...]
    blake3: str


class ErrorStatistics(Record):
    """Of a lossy object against its source: all over logical elements. `snr_db` is None for an exact object."""

    max_abs: float
    rms: float
    snr_db: float | None


class ReciprocalRecord(Record):
    """A multiplier turned into a divisor: both binary32 values, and how far their product is from one."""

    multiplier: float
    divisor: float
    relative_error: float


class Check(Record):
    """One thing that verification looked at in one object, over how many rows, and whether it held."""

    name: str
    rows: int
    passed: bool


class EncodedObject(Record):
    """What encoding one object leaves behind. `sources` are the tensors whose digests this object computed: each
    source tensor is digested once, by the first object that uses it."""

    index: int
    encoder: str
    backend: str
    worker: str
    blocks: int
    seconds: float
    payload_blake3: str
    source_blake3: dict[str, str]
    """`source/tensor` to BLAKE3 of the tensor's data."""
    reciprocals: tuple[ReciprocalRecord, ...] = ()


class VerifiedObject(Record):
    """What verification found of one object."""

    index: int
    payload_blake3: str
    checks: tuple[Check, ...]
    error: ErrorStatistics | None


class ObjectReport(Record):
    """One object of a report or of GET /v1/jobs/{id}/objects."""

    index: int
    name: str
    kind: str
    shape: tuple[int, ...] | None
    format: str | None
    layout: str | None
    offset: int
    bytes: int
    state: str
    sources: tuple[SourceTensorRecord, ...]
    expression: str | None
    encoder: str | None
    backend: str | None
    worker: str | None
    blocks: int | None
    seconds: float | None
    payload_blake3: str | None
    reciprocals: tuple[ReciprocalRecord, ...]
    error: ErrorStatistics | None
    checks: tuple[Check, ...]
