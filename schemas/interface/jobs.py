"""Jobs and how far they are."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from schemas.interface.answers import Answer
from schemas.interface.artifacts import Artifact
from schemas.interface.requests import UpgradeRequest
from schemas.problems import Problem
from schemas.report import ExecutionRecord, FetchedRecord, RecipeIdentity
from schemas.states import JobState


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
