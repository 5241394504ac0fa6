"""Runs the steps of many objects on a few threads: in order of hand-out, bounded, with one deterministic failure."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from workers.engine.scratch import Bytes, Scratch
from workers.engine.sources.aligned import aligned_bytes


class Observer(Protocol):
    """Told of progress between blocks, from any thread. Raising CancelledError from it stops the work."""

    def advanced(self, index: int, payload_bytes: int) -> None:
        """`payload_bytes` more bytes of the object at `index` are done."""


class SilentObserver:
    """An observer for callers that watch nothing."""

    def advanced(self, index: int, payload_bytes: int) -> None:
        """Nothing to tell anybody."""


Outcome = TypeVar("Outcome")
Step = Callable[[Scratch], Outcome]
"""One bounded piece of work; it may use its thread's scratch buffers until it returns."""


@dataclass(slots=True)
class _Turn(Generic[Outcome]):
    """The shared state of one run: what is handed out next, and the earliest failure so far."""

    steps: Iterator[Step[Outcome]]
    lock: threading.Lock = field(default_factory=threading.Lock)
    handed_out: int = 0
    failed_at: int | None = None
    failure: BaseException | None = None

    def next(self) -> tuple[int, Step[Outcome]] | None:
        with self.lock:
            if self.failure is not None:
                return None
            try:
                step = next(self.steps)
            except StopIteration:
                return None
            except BaseException as error:
                self.failed_at, self.failure = self.handed_out, error
                return None
            self.handed_out += 1
            return self.handed_out - 1, step

    def fail(self, number: int, error: BaseException) -> None:
        with self.lock:
            if self.failed_at is None or number < self.failed_at:
                self.failed_at, self.failure = number, error


def run_steps(steps: Iterator[Step[None]], threads: int, allocate: Callable[[int], Bytes] = aligned_bytes) -> None:
    """Runs every step, at most `threads` at a time; the iterator is drawn from under a lock, one step ahead of need.

    Steps are handed out in order, and after a failure no further one is: the steps before it have all started, are
    awaited, and the failure raised is that of the earliest step that failed. So the same input gives the same error
    on any number of threads. `allocate` makes the threads' scratch buffers.
    """
    turn = _Turn(steps)

    def work() -> None:
        scratch = Scratch(allocate)
        while (taken := turn.next()) is not None:
            number, step = taken
            try:
                step(scratch)
            except BaseException as error:
                turn.fail(number, error)

    if threads == 1:
        work()
    else:
        with ThreadPoolExecutor(threads, thread_name_prefix="ninforge") as pool:
            try:
                wait([pool.submit(work) for _ in range(threads)])
            except BaseException as interruption:
                turn.fail(-1, interruption)  # from outside, as by a signal: before any step, so no other is handed out
                raise
    if turn.failure is not None:
        raise turn.failure
