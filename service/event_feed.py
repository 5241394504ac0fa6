"""New events of jobs for all who watch them in this process: one task asks the database, however many they are."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

from fastapi.concurrency import run_in_threadpool
from sqlalchemy import and_, or_, select
from sqlalchemy.exc import SQLAlchemyError

from schemas.states import ACTIVE_STATES, EventKind
from schemas.tables import EventRow, JobRow
from workers.database import Database, few_at_a_time

logger = logging.getLogger(__name__)

_POLL_SECONDS = 0.5
_MAX_WAITING = 1000
"""Events that wait for a client who does not take them; then its stream ends, and it may come back for the rest."""


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One event. After the last of a job nothing follows, unless the job is tried again."""

    number: int
    kind: EventKind
    data: Mapping[str, object]

    @property
    def is_last(self) -> bool:
        return self.kind is EventKind.STATE and self.data["state"] not in ACTIVE_STATES


class Subscription:
    """What one client has still to be sent. `next` is for one caller at a time."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[JobEvent | None] = asyncio.Queue()

    async def next(self, timeout_seconds: float) -> JobEvent | None:
        """The next event, or None at the end of the subscription. Raises TimeoutError."""
        return await asyncio.wait_for(self._waiting.get(), timeout_seconds)

    def put(self, event: JobEvent) -> None:
        if self._waiting.qsize() < _MAX_WAITING:
            self._waiting.put_nowait(event)
        else:
            self.end()

    def end(self) -> None:
        """Drops what is waiting and ends the subscription."""
        while not self._waiting.empty():
            self._waiting.get_nowait()
        self._waiting.put_nowait(None)


@dataclass(slots=True)
class _Watched:
    """A job that is watched: by whom, and the number of the last event that they have been given."""

    subscriptions: set[Subscription] = field(default_factory=set)
    number: int | None = None


class EventFeed:
    """Everything here but `close` runs in the event loop of the server, and so at one place at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._watched: dict[UUID, _Watched] = {}
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    @contextmanager
    def subscription(self, job_id: UUID) -> Iterator[Subscription]:
        """A subscription to a job's events, which come once `begin` has been called with where they begin."""
        subscription = Subscription()
        watched = self._watched.setdefault(job_id, _Watched())
        watched.subscriptions.add(subscription)
        if self._is_closed:
            subscription.end()
        elif self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll(), name="event-feed")
        try:
            yield subscription
        finally:
            watched.subscriptions.discard(subscription)
            if not watched.subscriptions and self._watched.get(job_id) is watched:
                del self._watched[job_id]

    def begin(self, job_id: UUID, number: int) -> None:
        """Lets events after this number come. Whoever subscribed before it was read misses none; those up to it may
        come as well, where others watch the job already."""
        watched = self._watched[job_id]
        watched.number = number if watched.number is None else watched.number

    def close(self) -> None:
        """Ends all subscriptions, those to come as well: the server is about to end."""
        self._is_closed = True
        for watched in self._watched.values():
            for subscription in watched.subscriptions:
                subscription.end()

    async def _poll(self) -> None:
        while self._watched and not self._is_closed:
            await asyncio.sleep(_POLL_SECONDS)
            numbers = {job_id: one.number for job_id, one in self._watched.items() if one.number is not None}
            if not numbers:
                continue
            try:
                found = await run_in_threadpool(self._events_after, numbers)
            except SQLAlchemyError:
                logger.warning("events cannot be read; the next time they may be", exc_info=True)
                continue
            for job_id in numbers:
                self._give(job_id, found.get(job_id))

    def _give(self, job_id: UUID, events: list[JobEvent] | None) -> None:
        """Gives everyone new events of a job; None for a job that is no more."""
        watched = self._watched.get(job_id)
        if watched is None:
            return
        for subscription in watched.subscriptions:
            if events is None:
                subscription.end()
            for event in events or ():
                subscription.put(event)
        if events:
            watched.number = events[-1].number

    def _events_after(self, numbers: Mapping[UUID, int]) -> dict[UUID, list[JobEvent]]:
        """New events of those of the jobs that are still there."""
        found: dict[UUID, list[JobEvent]] = {}
        with self._database.reading() as session:
            for asked in few_at_a_time(numbers):
                last = session.execute(select(JobRow.id, JobRow.last_event).where(JobRow.id.in_(asked))).all()
                found |= {job_id: [] for job_id, _ in last}
                news = [job_id for job_id, number in last if number > numbers[job_id]]
                if news:
                    new = [and_(EventRow.job_id == job_id, EventRow.number > numbers[job_id]) for job_id in news]
                    rows = session.scalars(select(EventRow).where(or_(*new)).order_by(EventRow.job_id, EventRow.number))
                    for row in rows:
                        found[row.job_id].append(JobEvent(row.number, row.kind, row.data))
        return found
