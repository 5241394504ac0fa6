"""Bodies and answers of the HTTP interface, with the JSON names of interface.md.

What a job's report and its objects look like is in schemas/report.py, problem details in schemas/problems.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from schemas.problems import Problem
from schemas.report import (
    ConversionReport,
    ExecutionRecord,
    FetchedRecord,
    ObjectReport,
    RecipeIdentity,
    TensorReference,
)
from schemas.states import JobState, ObjectState, Stage, WorkerState
from schemas.upgrade_report import UpgradeReport

PRINTABLE = r"^[^\x00-\x1f\x7f]*$"

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=PRINTABLE)]
Where = Annotated[str, StringConstraints(min_length=1, max_length=4096, pattern=PRINTABLE)]

Item = TypeVar("Item")

MAX_MEMBERS = 1000
"""Most members of a request's body, and of each of its maps: recipes have at most 64 sources."""


class Body(BaseModel):
    """Base of what callers send: nothing unknown, and no text taken for a number or the other way round."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Answer(BaseModel):
    """Base of what is answered."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class JobRequest(Body):
    """Body of POST /v1/jobs and of POST /v1/plans.

    `recipe` is the id of a registered one or a whole document; `sources` says where each of its sources is; `let`
    replaces named integers of the recipe; `resources` gives single resources another place than the recipe's. In
    framing 3 no file is larger than `part_bytes`. `allow_unexecutable` lets pass what engines load and fail to run.
    """

    @model_validator(mode="before")
    @classmethod
    def _bounded(cls, body: object) -> object:
        """Refuses what is too much to tell every fault of."""
        for name, found in [("the body", body), *(body.items() if isinstance(body, dict) else ())]:
            if name != "recipe" and isinstance(found, dict) and len(found) > MAX_MEMBERS:
                raise ValueError(f"expected at most {MAX_MEMBERS} members in {name[:100]}, found {len(found)}")
        return body

    recipe: Name | dict[str, Any]
    sources: dict[Name, Where]
    let: dict[Name, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    resources: dict[str, Where] = Field(default_factory=dict)
    framing: Literal["auto"] | Annotated[int, Field(ge=1, le=3)] = "auto"
    part_bytes: Annotated[int, Field(ge=1, le=2**63 - 1)] | None = None
    allow_unexecutable: bool = False
    verify: Literal["full", "sample"] = "full"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    name: Name | None = None


class UpgradeRequest(Body):
    """Body of POST /v1/upgrades. `artifact` is a place below the source roots or the id of a job that is ready, of a
    file of framing 1 or 2; `chat_template` the place of a template that is to replace the file's own."""

    artifact: Where
    chat_template: Where | None = None


class Page(Answer, Generic[Item]):
    """Part of a list. `next` is the cursor that the following part begins at, None at the end."""

    items: tuple[Item, ...]
    next: str | None


class Progress(Answer):
    """How far a job is in its present state: objects and payload bytes encoded while `converting`, verified while
    `verifying`; while `planning`, bytes of remote sources fetched, where some are missing. Totals are None until the
    job is planned; rate and remaining seconds as long as nothing is known. `fraction` is of the whole job, from 0 to 1,
    and never falls while the job is not tried again."""

    objects_done: int
    objects_total: int | None
    bytes_done: int
    bytes_total: int | None
    bytes_per_second: float | None
    seconds_left: float | None
    fraction: float


class ArtifactPart(Answer):
    """One file of an artifact."""

    name: str
    bytes: int
    sha256: str


class Artifact(Answer):
    """A verified artifact: `bytes` of all its files, `sha256` of the entry, which is the first of `parts`.
    `minimum_reader` says in words which engines open it."""

    bytes: int
    sha256: str
    minimum_reader: str
    parts: tuple[ArtifactPart, ...]


class ManifestPart(ArtifactPart):
    """One file of a published artifact: `url` is where it is downloaded, a path on the same host. Only its own name
    lets a reader find it beside the entry."""

    index: int
    url: str


class ArtifactManifest(Answer):
    """All files of a published artifact, the entry first. `artifact_id` stands in their headers, None in framings 1
    and 2; `bytes` is of all files together."""

    artifact_id: str | None
    framing: int
    minimum_reader: str
    bytes: int
    parts: tuple[ManifestPart, ...]


class Attempt(Answer):
    """How a job ended before it was tried again."""

    state: JobState
    started_at: datetime | None
    finished_at: datetime | None
    error: Problem | None


class Job(Answer):
    """One conversion, or one upgrade: then `recipe` is None and `upgrade` what was asked for. `framing` is `auto` until
    planning has chosen one, and `execution` None until then: whether an engine runs the artifact. A `pinned` one is not
    removed. `fetched` are its remote sources and resources, their commits known from planning on. `attempts` are those
    before the present one, oldest first."""

    id: UUID
    name: str
    state: JobState
    recipe: RecipeIdentity | None
    upgrade: UpgradeRequest | None
    framing: Literal["auto"] | int
    execution: ExecutionRecord | None
    verify: str
    device: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    progress: Progress
    error: Problem | None
    artifact: Artifact | None
    pinned: bool
    fetched: tuple[FetchedRecord, ...]
    attempts: tuple[Attempt, ...]


class CodeCount(Answer):
    """How many elements have a code: `code` are its bits, `value` what it stands for before it is scaled."""

    code: int
    value: float
    count: int


class ScaleCount(Answer):
    """How many scales lie between two values, both included: those of an eighth of a binade."""

    first: float
    last: float
    count: int


class Histograms(Answer):
    """Exact counts of the words of the `rows` that were verified: every code of the format, and the scales above zero
    by bins that are not empty, ascending."""

    rows: int
    codes: tuple[CodeCount, ...]
    zero_scales: int
    scales: tuple[ScaleCount, ...]


class ObjectDocument(ObjectReport):
    """One object of a job. `source_rms` is the RMS of what a lossy one was made of, over the same elements as `error`;
    `histograms` are there of one that was quantized and verified by a conversion."""

    source_rms: float | None
    histograms: Histograms | None


class StateEvent(Answer):
    """That a job has come to a state; `error` is why it failed."""

    state: JobState
    error: Problem | None


class ObjectsEvent(Answer):
    """That objects have come to a state, `encoded` or `verified`: their indices."""

    state: ObjectState
    indices: tuple[int, ...]


class JobReport(ConversionReport):
    """The report beside a job's artifact: every object's provenance, and the job, in one document."""

    job: Job


class UpgradeJobReport(UpgradeReport):
    """The report beside an upgrade's artifact, and the job, in one document."""

    job: Job


class SourceEntry(Answer):
    """A folder or a file below the source roots, under the name by which a job takes it."""

    name: str
    kind: Literal["folder", "file"]
    bytes: int | None


class RecipeSummary(Answer):
    """A recipe that jobs take by its id, in a list in its newest revision: one that comes with the service
    (`registered`), or one that was stored at `created_at`."""

    id: str
    revision: int
    sha256: str
    title: str | None
    target: str | None
    architecture: str | None
    objects: int
    registered: bool
    created_at: datetime | None


class RecipeDocument(RecipeSummary):
    """A recipe with its document, as a job takes it: `text` is the YAML that it was written as, None if it was sent as
    JSON; `revisions` are all that there are, newest first."""

    document: Mapping[str, Any]
    text: str | None
    revisions: tuple[int, ...]


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


class InspectionRequest(Body):
    """Body of POST /v1/inspections: a place below the source roots, or the id of a job that is ready."""

    artifact: Where


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


class FormatEntry(Answer):
    """A numeric format: its one layout, and the encoder profiles and origins that its words may come from."""

    name: str
    layout: str
    encodes: tuple[str, ...]


class LayoutEntry(Answer):
    """A tensor layout; payloads stored in it begin at multiples of `alignment` bytes."""

    name: str
    alignment: int


class RegistryDocument(Answer):
    """The closed registry."""

    formats: tuple[FormatEntry, ...]
    layouts: tuple[LayoutEntry, ...]
    encodings: tuple[LayoutEntry, ...]
    encoder_profiles: tuple[str, ...]
    architectures: tuple[str, ...]


class WorkerTask(Answer):
    """What a worker is at. `object` is the first one that it has not gone through; None while planning."""

    job: UUID
    job_name: str
    stage: Stage
    object: str | None


class Worker(Answer):
    """A worker process. `queues` are those that it takes jobs from; `heartbeat_at` is its last sign of life."""

    name: str
    host: str
    pid: int
    device: str
    queues: tuple[str, ...]
    threads: int
    version: str
    state: WorkerState
    started_at: datetime
    heartbeat_at: datetime
    ended_at: datetime | None
    task: WorkerTask | None


class Health(Answer):
    """That the process answers."""

    status: Literal["ok"]
