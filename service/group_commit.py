"""Transactions that many threads share: what comes while one is under way goes into the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class GroupCommit(Generic[Item, Outcome]):
    """Commits together what threads bring at the same time, since most of a small transaction is waiting for its turn,
    its locks and the disk.

    `commit` does all of some items and returns their outcomes in order, or raises and has done nothing. If it raises
    one of `refusals`, which are about single items, each item is tried alone; whatever else it raises is for them all.
    """

    def __init__(
        self, commit: Callable[[Sequence[Item]], Sequence[Outcome]], refusals: tuple[type[Exception], ...]
    ) -> None:
        self._commit = commit
        self._refusals = refusals
        self._turn = Lock()
        self._guard = Lock()
        self._waiting: list[tuple[Item, Future[Outcome]]] = []

    def write(self, item: Item) -> Outcome:
        """The outcome of one item, once it is committed. Raises what `commit` does."""
        mine: Future[Outcome] = Future()
        with self._guard:
            self._waiting.append((item, mine))
        with self._turn:
            if not mine.done():  # whoever had the turn before may have taken it along
                self._commit_waiting()
        return mine.result()

    def _commit_waiting(self) -> None:
        with self._guard:
            together, self._waiting = self._waiting, []
        if not self._committed(together):
            for one in together:
                self._committed([one])

    def _committed(self, together: Sequence[tuple[Item, Future[Outcome]]]) -> bool:
        """Whether the futures of these items have what became of them. They do not if several were refused."""
        try:
            outcomes = self._commit([item for item, _ in together])
        except BaseException as error:
            if len(together) > 1 and isinstance(error, self._refusals):
                return False
            for _, future in together:
                future.set_exception(error)
        else:
            for (_, future), outcome in zip(together, outcomes, strict=True):
                future.set_result(outcome)
        return True
