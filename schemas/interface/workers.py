"""Worker processes and what they are at."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from schemas.interface.answers import Answer
from schemas.states import Stage, WorkerState


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
