"""What the routes work with, by annotation. Dependencies take no time and are `async`: they run where they are asked
for, without a thread."""

from __future__ import annotations

import time
from asyncio import wrap_future
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated, TypeVar, TypeVarTuple
from uuid import UUID

from anyio import CapacityLimiter, to_thread
from celery import Celery
from fastapi import Depends, HTTPException, Path, Query, Request
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from schemas.errors import NinforgeError
from schemas.interface import Job
from schemas.tables import JobRow
from service.batching import Batching
from service.event_feed import EventFeed
from service.event_streams import EventStreams
from service.job_documents import shown_jobs
from service.job_list_feed import JobListFeed
from service.new_jobs import NewJob, add_new_jobs
from workers.application import wake
from workers.database import Database
from workers.devices import queue_of
from workers.settings import Settings
from workers.storage import Storage

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

_FEW = 8
"""Many come at once. Were there more threads, each would wait for the interpreter again and again."""

_BETWEEN_MESSAGES_SECONDS = 0.01
"""Requests have the interpreter meanwhile. The workers have enough to do before they have been told of many jobs."""


@dataclass(frozen=True, slots=True)
class Service:
    """The parts of one running service."""

    settings: Settings
    database: Database
    storage: Storage
    queue: Celery
    events: EventFeed = field(init=False)
    job_list: JobListFeed = field(init=False)
    streams: EventStreams = field(init=False)
    _new_jobs: Batching[NewJob, Job] = field(init=False)
    _messages: ThreadPoolExecutor = field(init=False)
    _shown_jobs: Batching[UUID, Job | None] = field(init=False)
    _few: CapacityLimiter = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", EventFeed(self.database))
        object.__setattr__(self, "job_list", JobListFeed(self.database))
        object.__setattr__(self, "streams", EventStreams(self.settings.max_event_streams))
        object.__setattr__(self, "_shown_jobs", Batching(self._show_jobs, (ValueError,)))
        object.__setattr__(self, "_few", CapacityLimiter(_FEW))
        object.__setattr__(self, "_messages", ThreadPoolExecutor(1, thread_name_prefix="messages"))
        object.__setattr__(self, "_new_jobs", Batching(self._add_jobs, (NinforgeError, IntegrityError)))

    async def job(self, job_id: UUID) -> Job | None:
        """A job as it is now, read together with those that other requests ask for; None if there is none."""
        return await wrap_future(self._shown_jobs.submit(job_id))

    async def call(self, function: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        """Calls what takes a moment, on one of a few threads. Nobody who has one of them waits for another, so that it
        may be waited for on those that routes run on."""
        return await to_thread.run_sync(function, *arguments, limiter=self._few)

    def wake(self, job: Job) -> None:
        """Has a message sent to the workers that there is work in a job. No request waits for it, since the sweeper
        makes up for one that is lost."""
        self._messages.submit(self._send, job)

    def flush(self) -> None:
        """Returns when every message so far has been sent, or could not be."""
        self._messages.submit(lambda: None).result()

    async def add_job(self, new: NewJob) -> Job:
        """Adds a job, queued, together with those of other requests, and wakes a worker. Raises what add_new_jobs
        raises."""
        if new.check is None:
            document = await wrap_future(self._new_jobs.submit(new))
        else:  # what it locks has no order among several
            [document] = await self.call(self._add_jobs, [new])
        self.wake(document)
        return document

    def _add_jobs(self, new: Sequence[NewJob]) -> Sequence[Job]:
        return add_new_jobs(self.database, self.settings.max_active_jobs_per_token, new)

    def _show_jobs(self, job_ids: Sequence[UUID]) -> Sequence[Job | None]:
        with self.database.reading() as session:
            return shown_jobs(session, job_ids)

    def _send(self, job: Job) -> None:
        wake(self.queue, job.id, queue_of(job.device))
        time.sleep(_BETWEEN_MESSAGES_SECONDS)

    def close(self) -> None:
        """Ends what the service does beside requests, once there are none. Messages that wait are not sent."""
        self._shown_jobs.close()
        self._new_jobs.close()
        self._messages.shutdown(cancel_futures=True)
        self.database.close()

    def end_streams(self) -> None:
        """Ends all streams of events: the server is about to end."""
        self.events.close()
        self.job_list.close()


async def _service(request: Request) -> Service:
    service = request.app.state.service
    if not isinstance(service, Service):
        raise TypeError(f"expected the application's state to hold a Service, found {service!r}")
    return service


async def _job_id(job_id: Annotated[str, Path()]) -> UUID:
    try:
        return UUID(job_id)
    except ValueError:
        raise unknown_job(job_id) from None


def unknown_job(job_id: UUID | str) -> HTTPException:
    """404 for a job."""
    return HTTPException(HTTPStatus.NOT_FOUND, f"There is no job {job_id}.")


async def _token_name(request: Request) -> str:
    name: str = request.user.display_name
    return name


def existing_job(session: Session, job_id: UUID) -> JobRow:
    """The row of a job. Raises HTTPException 404."""
    row = session.get(JobRow, job_id)
    if row is None:
        raise unknown_job(job_id)
    return row


CurrentService = Annotated[Service, Depends(_service)]
TokenName = Annotated[str, Depends(_token_name)]
"""Of the token that the request showed; empty where there are none."""
JobId = Annotated[UUID, Depends(_job_id)]
Limit = Annotated[int, Query(ge=1, le=1000)]
