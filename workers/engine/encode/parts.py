"""The parts in which one object is made: numbered as they are handed out, ending in any order."""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition, Lock


class Parts:
    """Which parts of one object's making have not ended, and those that wait for what others bring."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._changed = Condition(self._lock)
        self._waiting = 0
        self._handed_out = 0
        self._running: set[int] = set()
        self._complete = False

    def hand_out(self, *, last: bool = False) -> int:
        """The number of one more part, after the last of which there are no others."""
        with self._lock:
            number = self._handed_out
            self._handed_out += 1
            self._running.add(number)
            self._complete = last
            return number

    def end(self, part: int) -> bool:
        """Takes note that a part has ended, in whatever way. True for the one that ends when all others have."""
        with self._lock:
            self._running.remove(part)
            if self._waiting:
                self._changed.notify_all()
            return self._complete and not self._running

    def brought(self) -> None:
        """Lets parts that wait look again."""
        if self._waiting:
            with self._lock:
                self._changed.notify_all()

    def wait_until(self, brought: Callable[[], bool], part: int) -> bool:
        """Waits in a part until something is there. False if it is not when all parts before have ended."""
        with self._lock:
            self._waiting += 1
            try:
                while not brought():
                    if min(self._running) == part:
                        return False
                    self._changed.wait()
            finally:
                self._waiting -= 1
        return True
