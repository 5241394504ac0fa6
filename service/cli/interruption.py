"""What ends a command from outside: an interrupt, a request to terminate, the end of its terminal."""

from __future__ import annotations

import signal
from types import FrameType
from typing import NoReturn

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class InterruptedBySignal(KeyboardInterrupt):
    """Raised in the main thread, so that half-made files are removed on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def exit_code(self) -> int:
        """What shells report of a process that a signal ended."""
        return 128 + self.number


def raise_on_signals() -> None:
    """Makes each ending signal raise InterruptedBySignal, but those that the caller has the process ignore (nohup)."""
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _raise)


def _raise(number: int, _frame: FrameType | None) -> NoReturn:
    for one in _ENDING:  # a second signal must not cut short the removal of half-made files
        signal.signal(one, signal.SIG_IGN)
    raise InterruptedBySignal(number)
