"""Messages to the workers that there is work in a job, sent beside the requests that brought it."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from celery import Celery

from schemas.interface import Job
from workers.application import wake
from workers.devices import queue_of

_PAUSE_SECONDS = 0.01
"""Requests have the interpreter meanwhile. The workers have enough to do before they have been told of many jobs."""


class Messages:
    """Sends messages in order, on a thread of its own. No request waits for it, since the sweeper makes up for those
    that are lost."""

    def __init__(self, queue: Celery) -> None:
        self._queue = queue
        self._sender = ThreadPoolExecutor(1, thread_name_prefix="messages")

    def wake(self, job: Job) -> None:
        """Has a message sent to the workers that there is work in a job."""
        self._sender.submit(self._send, job)

    def flush(self) -> None:
        """Returns when every message so far has been sent, or could not be."""
        self._sender.submit(lambda: None).result()

    def close(self) -> None:
        """Returns when the message under way is sent. Those that wait are not."""
        self._sender.shutdown(cancel_futures=True)

    def _send(self, job: Job) -> None:
        wake(self._queue, job.id, queue_of(job.device))
        time.sleep(_PAUSE_SECONDS)
