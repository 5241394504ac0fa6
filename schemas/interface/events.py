"""Events of a job."""

from __future__ import annotations

from schemas.interface.answers import Answer
from schemas.problems import Problem
from schemas.states import JobState, ObjectState


class StateEvent(Answer):
    """That a job has come to a state; `error` is why it failed."""

    state: JobState
    error: Problem | None


class ObjectsEvent(Answer):
    """That objects have come to a state, `encoded` or `verified`: their indices."""

    state: ObjectState
    indices: tuple[int, ...]
