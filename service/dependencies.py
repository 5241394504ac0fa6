"""What the routes work with, by annotation. Dependencies take no time and are `async`: they run where they are asked
for, without a thread."""

from __future__ import annotations

from asyncio import wrap_future
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Annotated, TypeVar, TypeVarTuple
from uuid import UUID

from anyio import CapacityLimiter, to_thread
from celery import Celery
from fastapi import Depends, HTTPException, Path, Query, Request
from sqlalchemy.orm import Session

from schemas.errors import NinforgeError
from schemas.interface import Job
from schemas.tables import JobRow
from service.batching import Batching
from service.event_feed import EventFeed
from service.event_streams import EventStreams
from service.job_documents import shown_jobs
from service.job_list_feed import JobListFeed
from service.messages import Messages
from service.new_jobs import KeyTakenError, NewJob, add_new_jobs
from workers.database import Database
from workers.settings import Settings
from workers.storage import Storage

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

_FEW = 8
"""Many come at once. Were there more threads, each would wait for the interpreter again and again."""


@dataclass(frozen=True, slots=True)
class Service:
    """The parts of one running service."""

    settings: Settings
    database: Database
    storage: Storage
    queue: Celery
    messages: Messages
    events: EventFeed
    job_list: JobListFeed
    streams: EventStreams
    _add: Callable[[Sequence[NewJob]], Sequence[Job]]
    _new_jobs: Batching[NewJob, Job]
    _shown_jobs: Batching[UUID, Job | None]
    _few: CapacityLimiter

    @classmethod
    def of(cls, settings: Settings, database: Database, storage: Storage, queue: Celery) -> Service:
        """A service over these, which it closes in the end."""
        add = partial(add_new_jobs, database, settings.max_active_jobs_per_token)
        return cls(
            settings,
            database,
            storage,
            queue,
            messages=Messages(queue),
            events=EventFeed(database),
            job_list=JobListFeed(database),
            streams=EventStreams(settings.max_event_streams),
            _add=add,
            _new_jobs=Batching(add, (NinforgeError, KeyTakenError)),
            _shown_jobs=Batching(partial(shown_jobs, database), (ValueError,)),
            _few=CapacityLimiter(_FEW),
        )

    async def job(self, job_id: UUID) -> Job | None:
        """A job as it is now, read together with those that other requests ask for; None if there is none."""
        return await wrap_future(self._shown_jobs.submit(job_id))

    async def add_job(self, new: NewJob) -> Job:
        """Adds a job, queued, together with those of other requests, and wakes a worker. Raises what add_new_jobs
        raises."""
        if new.check is None:
            document = await wrap_future(self._new_jobs.submit(new))
        else:  # what it locks has no order among several
            [document] = await self.call(self._add, [new])
        self.messages.wake(document)
        return document

    async def call(self, function: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        """Calls what takes a moment, on one of a few threads. Nobody who has one of them waits for another, so that it
        may be waited for on those that routes run on."""
        return await to_thread.run_sync(function, *arguments, limiter=self._few)

    def close(self) -> None:
        """Ends what the service does beside requests, once there are none."""
        self._shown_jobs.close()
        self._new_jobs.close()
        self.messages.close()
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
