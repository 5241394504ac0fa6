"""What happens to a job, as the service tells it: by server-sent events, over as many connections as it takes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from uuid import UUID

import httpx
from httpx_sse import EventSource, ServerSentEvent, SSEError

from schemas.errors import ServiceError
from schemas.interface import Job, ObjectsEvent, Progress, StateEvent
from schemas.states import ACTIVE_STATES, EventKind
from service.client.connection import UNAVAILABLE, Connection, RefusedError, parsed, refusal, unanswered

Happening = Job | StateEvent | Progress | ObjectsEvent
"""The whole job at first, and after being away for long; else what has changed."""

PATIENCE_SECONDS = 60.0
"""How long a service may be away before that is told."""

_KINDS: Mapping[str, type[Happening]] = {
    "snapshot": Job,
    EventKind.STATE: StateEvent,
    EventKind.PROGRESS: Progress,
    EventKind.OBJECT: ObjectsEvent,
}
_PAUSE_SECONDS = 2.0
_TIMEOUT = httpx.Timeout(45, connect=10)
"""A quiet stream carries a comment every 15 seconds."""


def happenings(connection: Connection, job: UUID, patience_seconds: float) -> Iterator[Happening]:
    """Everything that happens to a job until it has ended, its end included.

    A connection that breaks is followed by another one, that goes on after the last event. Raises RefusedError for a
    job that is not there or no more, ServiceError for a service that is away for longer than `patience_seconds`.
    """
    stream = _Stream(connection, job)
    while not stream.is_over:
        failure: ServiceError | None = None
        try:
            yield from stream.one_connection()
        except httpx.TransportError as error:
            failure = unanswered(stream.where, error)
        except RefusedError as error:
            if error.status not in UNAVAILABLE:
                raise
            failure = error
        if failure is not None and time.monotonic() - stream.last_heard > patience_seconds:
            raise failure
        if not stream.is_over:
            time.sleep(stream.pause_seconds)


class _Stream:
    """The events of one job, and how far they have come."""

    def __init__(self, connection: Connection, job: UUID) -> None:
        self._connection = connection
        self._path = f"v1/jobs/{job}/events"
        self._last_id = ""
        self.where = connection.where(self._path)
        self.pause_seconds = _PAUSE_SECONDS
        self.last_heard = time.monotonic()
        self.is_over = False

    def one_connection(self) -> Iterator[Happening]:
        """What comes over one connection. Raises RefusedError, ServiceError for what are no events, TransportError."""
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": self._last_id} if self._last_id else {})}
        with self._connection.stream(self._path, headers, _TIMEOUT) as answer:
            if answer.status_code == httpx.codes.NO_CONTENT:  # of a job that ended with the last event
                self.is_over = True
                return
            if answer.status_code != httpx.codes.OK:
                answer.read()
                raise refusal(self.where, answer)
            try:
                for event in EventSource(answer).iter_sse():
                    yield from self._told(event)
            except SSEError as error:
                raise ServiceError(self.where, expected="server-sent events", found=str(error)) from None
            finally:
                self.last_heard = time.monotonic()

    def _told(self, event: ServerSentEvent) -> Iterator[Happening]:
        self._last_id = event.id or self._last_id
        if event.retry is not None:
            self.pause_seconds = event.retry / 1000
        if event.data and event.event in _KINDS:
            happening = parsed(self.where, event.data, _KINDS[event.event])
            self.is_over = isinstance(happening, Job | StateEvent) and happening.state not in ACTIVE_STATES
            yield happening
