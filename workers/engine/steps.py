"""Runs the steps of many objects on a few threads: in order of hand-out, bounded, with one deterministic failure."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

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
class _Chain:
    """Steps that are handed out in order, and how many of them have been."""

    number: int
    steps: Iterator[Step[None]]
    handed_out: int = 0


@dataclass(frozen=True, slots=True, order=True)
class _Place:
    """Where a step is handed out: in which chain, as which of its steps."""

    chain: int
    step: int


_BEFORE_ALL = _Place(-1, -1)


@dataclass(slots=True)
class _Turn:
    """The shared state of one run: what is handed out next, and the earliest failure so far."""

    chains: Iterator[Iterator[Step[None]]]
    lock: threading.Lock = field(default_factory=threading.Lock)
    begun: int = 0
    open: dict[int, _Chain] = field(default_factory=dict)
    """The chains that have begun and not ended, by their numbers."""
    failed_at: _Place | None = None
    failure: BaseException | None = None

    def next(self, last: _Place | None) -> tuple[_Place, Step[None]] | None:
        """The next step for a thread whose last one was at that place: of the same chain, else of a new one, else of
        the earliest that still has steps."""
        with self.lock:
            while (chain := self._chosen(last)) is not None:
                place = _Place(chain.number, chain.handed_out)
                try:
                    step = next(chain.steps)
                except StopIteration:
                    del self.open[chain.number]
                except BaseException as error:
                    self._fail(place, error)
                else:
                    chain.handed_out += 1
                    return place, step
            return None

    def _chosen(self, last: _Place | None) -> _Chain | None:
        if last is not None and last.chain in self.open:
            return self.open[last.chain]
        if self.failure is None:
            try:
                self.open[self.begun] = _Chain(self.begun, next(self.chains))
            except StopIteration:
                pass
            except BaseException as error:
                self._fail(_Place(self.begun, 0), error)
            else:
                self.begun += 1
                return self.open[self.begun - 1]
        return self.open[min(self.open)] if self.open else None

    def fail(self, place: _Place, error: BaseException) -> None:
        with self.lock:
            self._fail(place, error)

    def _fail(self, place: _Place, error: BaseException) -> None:
        """Notes a failure. Only the chains before it go on."""
        if self.failed_at is None or place < self.failed_at:
            self.failed_at, self.failure = place, error
            self.open = {number: chain for number, chain in self.open.items() if number < place.chain}


def run_chains(
    chains: Iterable[Iterator[Step[None]]], threads: int, allocate: Callable[[int], Bytes] = aligned_bytes
) -> None:
    """Runs every step of every chain, at most `threads` at a time. A thread takes a chain for itself as long as there
    is a new one, and then helps with those of others; all are drawn from under a lock, one step ahead of need.

    The steps of a chain are handed out in order. After a failure only what comes before it goes on: the steps handed
    out of its chain, and the chains before. The failure raised is the earliest of all, so the same input gives the
    same error on any number of threads. `allocate` makes the threads' scratch buffers.
    """
    turn = _Turn(iter(chains))

    def work() -> None:
        scratch = Scratch(allocate)
        place: _Place | None = None
        while (taken := turn.next(place)) is not None:
            place, step = taken
            try:
                step(scratch)
            except BaseException as error:
                turn.fail(place, error)

    if threads == 1:
        work()
    else:
        with ThreadPoolExecutor(threads, thread_name_prefix="ninforge") as pool:
            try:
                wait([pool.submit(work) for _ in range(threads)])
            except BaseException as interruption:
                turn.fail(_BEFORE_ALL, interruption)  # from outside, as by a signal: no other step is handed out
                raise
    if turn.failure is not None:
        raise turn.failure


def run_steps(steps: Iterator[Step[None]], threads: int) -> None:
    """Runs steps that all threads take in turn: one chain, as `run_chains` runs it."""
    run_chains([steps], threads)
