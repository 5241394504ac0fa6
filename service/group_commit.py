"""Transactions that many requests share: what comes while one is under way goes into the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Generic, TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class GroupCommit(Generic[Item, Outcome]):
    """Commits together what comes at the same time, since most of a small transaction is waiting for its turn, its
    locks and the disk. A thread of its own does so, and nobody else's has to wait.

    `commit` does all of some items and returns their outcomes in order, or raises and has done nothing. If it raises
    one of `refusals`, which are about single items, each item is tried alone; whatever else it raises is for them all.
    """

    def __init__(
        self, commit: Callable[[Sequence[Item]], Sequence[Outcome]], refusals: tuple[type[Exception], ...]
    ) -> None:
        self._commit = commit
        self._refusals = refusals
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="commits")
        self._guard = Lock()
        self._waiting: list[tuple[Item, Future[Outcome]]] = []

    def write(self, item: Item) -> Future[Outcome]:
        """What will have the outcome of one item, once it is committed, or what `commit` raised. Cancelled in time, it
        keeps the item from being committed."""
        mine: Future[Outcome] = Future()
        with self._guard:
            self._waiting.append((item, mine))
            is_first = len(self._waiting) == 1
        if is_first:  # it takes the others along that come until then
            self._writer.submit(self._commit_waiting)
        return mine

    def close(self) -> None:
        """Returns when all that came is committed. Nothing may come later."""
        self._writer.shutdown()

    def _commit_waiting(self) -> None:
        with self._guard:
            together, self._waiting = self._waiting, []
        together = [one for one in together if one[1].set_running_or_notify_cancel()]
        if not self._committed(together):
            for one in together:
                self._committed([one])

    def _committed(self, together: Sequence[tuple[Item, Future[Outcome]]]) -> bool:
        """Whether the futures of these items have what became of them. They do not if several were refused."""
        try:
            outcomes = self._commit([item for item, _ in together]) if together else ()
        except BaseException as error:
            if len(together) > 1 and isinstance(error, self._refusals):
                return False
            for _, future in together:
                future.set_exception(error)
        else:
            for (_, future), outcome in zip(together, outcomes, strict=True):
                future.set_result(outcome)
        return True
