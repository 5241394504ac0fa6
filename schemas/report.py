"""What is recorded of a conversion: per-object provenance, verification, and the report beside the artifact.

The JSON names are those of interface.md.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Base of the report's parts: frozen, and closed to members that are not named."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceTensorRecord(Record):
    """One source tensor that an object is made of. `blake3` is that of its data bytes; `file` is the shard's name
    relative to the checkpoint. `blake3` is None until an object that uses the tensor has been encoded."""

    source: str
    file: str
    tensor: str
    dtype: str
    shape: tuple[int, ...]
    blake3: str | None


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


class SourceDigest(Record):
    """BLAKE3 of one source tensor's data."""

    source: str
    tensor: str
    blake3: str


class EncodedObject(Record):
    """What encoding one object leaves behind. `source_digests` are of the tensors that this object was the first to
    use: each source tensor is digested once."""

    index: int
    encoder: str
    backend: str
    worker: str
    blocks: int
    seconds: float
    payload_blake3: str
    source_digests: tuple[SourceDigest, ...]
    reciprocals: tuple[ReciprocalRecord, ...] = ()


class VerifiedObject(Record):
    """What verification found of one object. `source_rms` is the RMS of the source where `error` is there."""

    index: int
    payload_blake3: str
    checks: tuple[Check, ...]
    error: ErrorStatistics | None
    source_rms: float | None


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


class RecipeIdentity(Record):
    """Which recipe: `sha256` is that of its canonical form."""

    id: str
    revision: int
    sha256: str


class ResourceRecord(Record):
    """A resource as it went in: SHA-256 of its bytes."""

    name: str
    source: str
    bytes: int
    sha256: str


class FetchedRecord(Record):
    """A source or resource of the recipe that was fetched: from where, and for a repository of the Hub its commit."""

    member: Literal["source", "resource"]
    name: str
    where: str
    commit: str | None


class EvidenceRecord(Record):
    claim: str
    url: str


class VerificationRecord(Record):
    """`coverage` is `full`, `sample` or `none`; `seed` drew the rows of a sample."""

    coverage: str
    seed: int | None


class PartRecord(Record):
    """One file of an artifact, under the name of its download."""

    name: str
    bytes: int
    sha256: str


class ArtifactRecord(Record):
    """The finished artifact: `bytes` of all its files, `sha256` of the entry, which is the first of `parts`.
    `artifact_id` stands in their headers, None in framings 1 and 2. Digests in lowercase hexadecimal."""

    bytes: int
    sha256: str
    artifact_id: str | None
    directory_sha256: str
    payload_offset: int
    parts: tuple[PartRecord, ...]


Verdict = Literal["loads and runs", "loads and fails at start", "does not load", "not known"]


class ExecutionRecord(Record):
    """Whether an engine runs the artifact. `reasons` name each object that it cannot load or run, or why that is not
    known."""

    verdict: Verdict
    reasons: tuple[str, ...]


class TensorReference(Record):
    """A tensor of a source."""

    source: str
    tensor: str


class ReportHead(Record):
    """A report without its objects: what was made, of what, and how far it was checked."""

    report: int = 1
    converter: str
    model_id: str
    weights_id: str
    framing: int
    minimum_reader: str
    execution: ExecutionRecord
    recipe: RecipeIdentity
    let_overridden: bool
    artifact: ArtifactRecord
    verification: VerificationRecord
    evidence: tuple[EvidenceRecord, ...]
    resources: tuple[ResourceRecord, ...]
    fetched: tuple[FetchedRecord, ...] = ()
    unused: tuple[TensorReference, ...]
    ignored: tuple[TensorReference, ...]
    warnings: tuple[str, ...]


class ConversionReport(ReportHead):
    """The report beside an artifact: what was made, of what, how, and what was checked."""

    objects: tuple[ObjectReport, ...]
