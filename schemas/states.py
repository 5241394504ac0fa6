"""The states of jobs and of their objects (design.md, Jobs)."""

from __future__ import annotations

from enum import StrEnum


class JobState(StrEnum):
    """`queued → planning → converting → verifying → ready`, or an end in `failed` or `cancelled`."""

    QUEUED = "queued"
    PLANNING = "planning"
    CONVERTING = "converting"
    VERIFYING = "verifying"
    READY = "ready"
    FAILED = "failed"
    CANCELLED = "cancelled"


ACTIVE_STATES = (JobState.QUEUED, JobState.PLANNING, JobState.CONVERTING, JobState.VERIFYING)
"""The states in which a job still has work to do."""


class ObjectState(StrEnum):
    """`pending → encoding → encoded → verified`; an expired or released claim leads back to `pending`."""

    PENDING = "pending"
    ENCODING = "encoding"
    ENCODED = "encoded"
    VERIFIED = "verified"


class EventKind(StrEnum):
    """What an event of a job tells."""

    STATE = "state"
    PROGRESS = "progress"
    OBJECT = "object"


class Stage(StrEnum):
    """What a worker holds a claim for: planning or verifying a whole job, or encoding some of its objects."""

    PLANNING = "planning"
    ENCODING = "encoding"
    VERIFYING = "verifying"


class WorkerState(StrEnum):
    """What a worker process is at: `busy` holds a claim, `idle` none; `lost` gave no sign of life in time, `ended` was
    asked to end."""

    BUSY = "busy"
    IDLE = "idle"
    LOST = "lost"
    ENDED = "ended"
