"""Server-sent events of a job (interface.md)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from fastapi.sse import format_sse_event
from sqlalchemy import select

from schemas.interface import Job
from schemas.states import ACTIVE_STATES, EventKind
from schemas.tables import EventRow, JobRow
from service import event_streams
from service.dependencies import CurrentService, JobId, Service, unknown_job
from service.event_feed import EventFeed, JobEvent
from workers.job_document import job_document
from workers.job_events import KEPT

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

_RETRY_MILLISECONDS = 2000

LastEventId = Annotated[
    int | None,
    Header(ge=0, le=2**31 - 1, description="The id of the last event that the client has: those after it are sent."),
]

_ITEM = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "enum": ["snapshot", *EventKind]},
        "data": {"type": "string", "contentMediaType": "application/json"},
        "id": {"type": "string", "pattern": "^[0-9]+$"},
        "retry": {"type": "integer"},
    },
}

_RESPONSES: dict[int | str, dict[str, Any]] = {
    HTTPStatus.OK: {
        "description": "`snapshot`, the job, for a client without events or too far behind; then `state`, `progress`, "
        "and `object`, until the job has ended",
        "content": {"text/event-stream": {"itemSchema": _ITEM}},
    },
    HTTPStatus.NO_CONTENT: {"description": "The job has ended, and the client has all its events: do not come back"},
}


@dataclass(frozen=True, slots=True)
class _Beginning:
    """What a client is sent at first, and the number of the last event that this covers."""

    number: int
    snapshot: Job | None
    missed: list[JobEvent]
    has_ended: bool


@router.get("/{job_id}/events", response_class=Response, responses=_RESPONSES)
async def watch(job_id: JobId, service: CurrentService, last_event_id: LastEventId = None) -> Response:
    """What happens to a job, as it happens, as server-sent events; an `EventSource` that loses its connection goes on
    where it was, and stops by itself once the job has ended."""
    beginning = await run_in_threadpool(_beginning, service, job_id, last_event_id)
    if beginning is None:
        raise unknown_job(job_id)
    if beginning.has_ended and beginning.number == last_event_id:
        return Response(status_code=HTTPStatus.NO_CONTENT)
    return service.streams.response(_stream(service, job_id, last_event_id))


async def _stream(service: Service, job_id: UUID, last_event_id: int | None) -> AsyncIterator[bytes]:
    feed: EventFeed = service.events
    with feed.subscription(job_id) as subscription:
        beginning = await run_in_threadpool(_beginning, service, job_id, last_event_id)
        if beginning is None:  # removed just now
            return
        feed.begin(job_id, beginning.number)
        yield format_sse_event(retry=_RETRY_MILLISECONDS)
        if beginning.snapshot is not None:
            text = beginning.snapshot.model_dump_json()
            yield format_sse_event(event="snapshot", data_str=text, id=str(beginning.number))
        for event in beginning.missed:
            yield _text(event)
        while not beginning.has_ended:
            try:
                event_or_end = await subscription.next(event_streams.PING_SECONDS)
            except TimeoutError:
                yield format_sse_event(comment="ping")
                continue
            if event_or_end is None:
                return
            if event_or_end.number > beginning.number:
                yield _text(event_or_end)
                if event_or_end.is_last:
                    return


def _beginning(service: Service, job_id: UUID, last_event_id: int | None) -> _Beginning | None:
    """What the client has missed, or the whole job if that is no more to be told; None if there is no such job."""
    with service.database.reading() as session:
        job = session.get(JobRow, job_id)
        if job is None:
            return None
        number, has_ended = job.last_event, job.state not in ACTIVE_STATES
        if last_event_id is None or not number - KEPT <= last_event_id <= number:
            return _Beginning(number, job_document(session, job), [], has_ended)
        rows = session.scalars(
            select(EventRow).where(EventRow.job_id == job_id, EventRow.number > last_event_id).order_by(EventRow.number)
        )
        missed = [JobEvent(row.number, row.kind, row.data) for row in rows]
        return _Beginning(number, None, missed, has_ended)


def _text(event: JobEvent) -> bytes:
    return format_sse_event(event=event.kind, data_str=json.dumps(event.data), id=str(event.number))
