"""Progress of long work: a bar on a terminal, plain lines elsewhere, always on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Protocol

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from schemas.errors import CancelledError
from service.cli.consoles import tell
from workers.engine.steps import Observer

LINE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Phase:
    """One part of the work. `total` is the payload bytes that it will pass over, None where that is not known."""

    title: str
    total: int | None


class _Shown(Observer, Protocol):
    """An observer that shows what it is told."""

    def finish(self) -> None:
        """Told that the phase is over."""


class _BarObserver:
    def __init__(self, progress: Progress, phase: Phase) -> None:
        self._progress = progress
        self._total = phase.total
        self._task = progress.add_task(phase.title, total=phase.total)

    def advanced(self, index: int, payload_bytes: int) -> None:  # noqa: ARG002 - the bar counts bytes alone
        self._progress.advance(self._task, payload_bytes)

    def finish(self) -> None:
        """Fills the bar of a phase whose total was not known."""
        if self._total is None:
            done = self._progress.tasks[self._task].completed
            self._progress.update(self._task, total=done)


class _LineObserver:
    def __init__(self, phase: Phase) -> None:
        self._title = phase.title
        self._total = phase.total
        self._of = "" if phase.total is None else f" of {decimal(phase.total)}"
        self._lock = Lock()
        self._done = 0
        self._shown: int | None = None
        self._next = time.monotonic() + LINE_SECONDS

    def advanced(self, index: int, payload_bytes: int) -> None:  # noqa: ARG002 - the lines count bytes alone
        with self._lock:
            self._done += payload_bytes
            if self._done == self._total or time.monotonic() >= self._next:
                self._show()

    def finish(self) -> None:
        """Shows how far it came, if it went anywhere."""
        with self._lock:
            if self._total is not None or self._done:
                self._show()

    def _show(self) -> None:
        """One line, unless it would repeat the last one."""
        self._next = time.monotonic() + LINE_SECONDS
        if self._shown != self._done:
            self._shown = self._done
            tell(f"{self._title}: {decimal(self._done)}{self._of}")


class _Stoppable:
    """An observer that stops the work of threads which outlive the block that watches them: it was interrupted."""

    def __init__(self, shown: _Shown) -> None:
        self._shown = shown
        self._stopped = False

    def advanced(self, index: int, payload_bytes: int) -> None:
        if self._stopped:
            raise CancelledError("the work", expected="that it goes on", found="an interruption")
        self._shown.advanced(index, payload_bytes)

    def stop(self) -> None:
        self._stopped = True


def shows_bars() -> bool:
    """Whether a terminal is there to show bars on."""
    return sys.stderr is not None and sys.stderr.isatty()


def progress_bars() -> Progress:
    """Bars of bytes with their rate and the time that is left."""
    columns = (TextColumn("{task.description:>12}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    return Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True))


@contextmanager
def watched(*phases: Phase) -> Iterator[tuple[Observer, ...]]:
    """An observer for each phase in turn, shown while the block runs. Where it fails, threads still at work stop."""
    if not shows_bars():
        with _stopped_on_failure(tuple(_LineObserver(phase) for phase in phases)) as observers:
            yield observers
        return
    with (
        progress_bars() as progress,
        _stopped_on_failure(tuple(_BarObserver(progress, phase) for phase in phases)) as observers,
    ):
        yield observers


@contextmanager
def _stopped_on_failure(shown: tuple[_Shown, ...]) -> Iterator[tuple[Observer, ...]]:
    observers = tuple(map(_Stoppable, shown))
    try:
        yield observers
    except BaseException:
        for observer in observers:
            observer.stop()
        raise
    for one in shown:
        one.finish()
