"""That the list of jobs is no more as it was, for all who look at it in this process: one task asks the database."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from fastapi.concurrency import run_in_threadpool
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from schemas.tables import JobRow
from workers.database import Database

logger = logging.getLogger(__name__)

_POLL_SECONDS = 1.0
_WATCHED = 200
"""Jobs, the newest ones, whose changes are told: older ones are finished, but for a retry here and there."""

_Signature = list[tuple[object, ...]]


class ListChanges:
    """What one client waits for."""

    def __init__(self) -> None:
        self._has_changed = asyncio.Event()
        self.is_over = False

    async def next(self, timeout_seconds: float) -> bool:
        """Waits for the next change; False where there was none in that time."""
        try:
            await asyncio.wait_for(self._has_changed.wait(), timeout_seconds)
        except TimeoutError:
            return False
        self._has_changed.clear()
        return True

    def tell(self) -> None:
        self._has_changed.set()

    def end(self) -> None:
        """Wakes whoever waits, for the last time."""
        self.is_over = True
        self._has_changed.set()


class JobListFeed:
    """Everything here runs in the event loop of the server, and so at one place at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._clients: set[ListChanges] = set()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    @contextmanager
    def subscription(self) -> Iterator[ListChanges]:
        """Changes from now on."""
        changes = ListChanges()
        self._clients.add(changes)
        if self._is_closed:
            changes.end()
        elif self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll(), name="job-list-feed")
        try:
            yield changes
        finally:
            self._clients.discard(changes)

    def close(self) -> None:
        """Ends all subscriptions, those to come as well: the server is about to end."""
        self._is_closed = True
        for changes in self._clients:
            changes.end()

    async def _poll(self) -> None:
        last: _Signature | None = None
        while self._clients and not self._is_closed:
            try:
                found = await run_in_threadpool(self._signature)
            except SQLAlchemyError:
                logger.warning("the list of jobs cannot be read; the next time it may be", exc_info=True)
            else:
                if last is not None and found != last:
                    for changes in self._clients:
                        changes.tell()
                last = found
            await asyncio.sleep(_POLL_SECONDS)

    def _signature(self) -> _Signature:
        query = select(JobRow.id, JobRow.state, JobRow.last_event).order_by(JobRow.id.desc()).limit(_WATCHED)
        with self._database.reading() as session:
            return [tuple(row) for row in session.execute(query)]
