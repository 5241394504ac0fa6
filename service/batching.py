"""What many requests ask for at the same time, done together: what comes meanwhile goes into the next batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Generic, TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class Batching(Generic[Item, Outcome]):
    """Does many of a kind together, since most of a small transaction is waiting for its turn, its locks and the disk.
    A thread of its own does so, and nobody else's has to wait.

    `do` does all of some items and returns their outcomes in order, or raises and has done nothing. If it raises one of
    `refusals`, which are about single items, each item is tried alone; whatever else it raises is for them all.
    """

    def __init__(
        self, do: Callable[[Sequence[Item]], Sequence[Outcome]], refusals: tuple[type[Exception], ...] = ()
    ) -> None:
        self._do = do
        self._refusals = refusals
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="batches")
        self._guard = Lock()
        self._waiting: list[tuple[Item, Future[Outcome]]] = []

    def submit(self, item: Item) -> Future[Outcome]:
        """What will have the outcome of one item, or what `do` raised. Cancelled in time, the item is not done."""
        mine: Future[Outcome] = Future()
        with self._guard:
            if not self._waiting:  # the first takes the others along that come until then
                self._thread.submit(self._do_waiting)
            self._waiting.append((item, mine))
        return mine

    def close(self) -> None:
        """Returns when all that came is done. What comes later is refused with RuntimeError."""
        self._thread.shutdown()

    def _do_waiting(self) -> None:
        with self._guard:
            together, self._waiting = self._waiting, []
        together = [one for one in together if one[1].set_running_or_notify_cancel()]
        if not self._settled(together):
            for one in together:
                self._settled([one])

    def _settled(self, together: Sequence[tuple[Item, Future[Outcome]]]) -> bool:
        """Whether the futures of these items have what became of them. They do not if several were refused."""
        try:
            outcomes = self._do([item for item, _ in together]) if together else ()
            settled = list(zip(together, outcomes, strict=True))
        except BaseException as error:
            if len(together) > 1 and isinstance(error, self._refusals):
                return False
            for _, future in together:
                future.set_exception(error)
        else:
            for (_, future), outcome in settled:
                future.set_result(outcome)
        return True
