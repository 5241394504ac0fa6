"""Progress of long work: a bar on a terminal, plain lines elsewhere, always on standard error."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from workers.engine.steps import Observer

LINE_SECONDS = 5.0


class _BarObserver:
    def __init__(self, progress: Progress, title: str, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task(title, total=total)

    def advanced(self, index: int, payload_bytes: int) -> None:  # noqa: ARG002 - the bar counts bytes alone
        self._progress.advance(self._task, payload_bytes)


class _LineObserver:
    def __init__(self, console: Console, title: str, total: int) -> None:
        self._console, self._title, self._total = console, title, total
        self._lock = Lock()
        self._done = 0
        self._next = time.monotonic() + LINE_SECONDS

    def advanced(self, index: int, payload_bytes: int) -> None:  # noqa: ARG002 - the lines count bytes alone
        with self._lock:
            self._done += payload_bytes
            finished = self._done >= self._total
            if finished or time.monotonic() >= self._next:
                self._next = time.monotonic() + LINE_SECONDS
                self._console.print(f"{self._title}: {decimal(self._done)} of {decimal(self._total)}", highlight=False)


@contextmanager
def watched(*phases: tuple[str, int]) -> Iterator[tuple[Observer, ...]]:
    """An observer for each (title, payload bytes) in turn, shown while the block runs."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield tuple(_LineObserver(console, title, total) for title, total in phases)
        return
    columns = (TextColumn("{task.description:>12}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        yield tuple(_BarObserver(progress, title, total) for title, total in phases)
