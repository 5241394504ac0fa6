"""Keeps a claim alive while work goes on under it, and stops the work when the claim is lost or the worker ends."""

from __future__ import annotations

import logging
import threading
import time
from contextvars import copy_context
from datetime import timedelta
from functools import partial
from types import TracebackType

from sqlalchemy.exc import SQLAlchemyError

from schemas.errors import CancelledError
from workers import claims
from workers.claims import Claim, ClaimLostError
from workers.database import Database

logger = logging.getLogger(__name__)

_BEATS = 3
"""Signs of life in the time of one lease, or more of them."""

_LONGEST_PAUSE = 1.0
"""Seconds between signs of life: how soon a worker notices that its job was cancelled, and how fine progress is."""


class Heartbeat:
    """A context in which the claim is renewed by a thread, and the engine's observer of the work done in it.

    Progress goes to SQL with each renewal. `advanced` stops the work by raising CancelledError once the claim is lost,
    or once `stopping` is set because the worker is to end.
    """

    def __init__(self, database: Database, claim: Claim, lease: timedelta, stopping: threading.Event) -> None:
        self._database = database
        self._claim = claim
        self._lease = lease
        self._stopping = stopping
        self._lost = threading.Event()
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._done: dict[int, int] = {}
        self._unsaved: set[int] = set()
        beat = partial(copy_context().run, self._beat)  # its log records are of the same job
        self._thread = threading.Thread(target=beat, name=f"heartbeat-{claim.id}", daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def advanced(self, index: int, payload_bytes: int) -> None:
        """Notes `payload_bytes` more bytes done of an object. May be called from any thread.

        Raises CancelledError if the work should stop.
        """
        self.check()
        with self._lock:
            self._done[index] = self._done.get(index, 0) + payload_bytes
            self._unsaved.add(index)

    def check(self) -> None:
        """Raises CancelledError if the work should stop."""
        if self._lost.is_set() or self._stopping.is_set():
            raise CancelledError("conversion", expected="the worker to keep its claim", found="lost or given up")

    def _beat(self) -> None:
        lease_seconds = self._lease.total_seconds()
        renewed = time.monotonic()
        while not self._over.wait(min(lease_seconds / _BEATS, _LONGEST_PAUSE)):
            began = time.monotonic()
            try:
                self._renew()
                renewed = began
            except ClaimLostError:
                self._lost.set()
                return
            except SQLAlchemyError:
                logger.warning("claim %d could not be renewed", self._claim.id, exc_info=True)
                if time.monotonic() - renewed > lease_seconds:
                    self._lost.set()
                    return

    def _renew(self) -> None:
        with self._lock:
            progress = {index: self._done[index] for index in self._unsaved}
            self._unsaved.clear()
        with self._database.writing() as session:
            claims.renew(session, self._claim, lease=self._lease, progress=progress)
