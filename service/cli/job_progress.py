"""How a job of a service comes along: a bar on a terminal, plain lines elsewhere, always on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.filesize import decimal
from rich.progress import Progress as Bars

from schemas.interface import Job, Progress, StateEvent
from schemas.states import JobState
from service.cli.consoles import tell
from service.cli.progress import LINE_SECONDS, progress_bars, shows_bars
from service.client import Happening

_MEASURED = (JobState.PLANNING, JobState.CONVERTING, JobState.VERIFYING)
"""The states in which bytes are counted: of sources that are fetched, then of payload."""

Show = Callable[[Happening], None]


@contextmanager
def shown_job() -> Iterator[Show]:
    """What shows each thing that happens to a job, while the block runs."""
    if shows_bars():
        with progress_bars() as bars:
            yield _JobBar(bars).show
    else:
        yield _JobLines().show


class _JobBar:
    """One bar, of the state that the job is in; where nothing is counted it only moves."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task = bars.add_task("", total=None)
        self._state: JobState | None = None

    def show(self, happening: Happening) -> None:
        if isinstance(happening, Job | StateEvent) and happening.state is not self._state:
            self._state = happening.state
            self._bars.reset(self._task, total=None, description=happening.state)
        if isinstance(happening, Job | Progress) and self._state in _MEASURED:
            progress = happening.progress if isinstance(happening, Job) else happening
            self._bars.update(self._task, total=progress.bytes_total, completed=progress.bytes_done)


class _JobLines:
    """A line for each state, and every few seconds how far it is in it."""

    def __init__(self) -> None:
        self._state: JobState | None = None
        self._next = 0.0

    def show(self, happening: Happening) -> None:
        if isinstance(happening, Job | StateEvent) and happening.state is not self._state:
            self._state = happening.state
            self._next = time.monotonic() + LINE_SECONDS
            tell(happening.state)
        if isinstance(happening, Progress) and self._state in _MEASURED and time.monotonic() >= self._next:
            self._next = time.monotonic() + LINE_SECONDS
            tell(f"{self._state}: {_measured(happening)}")


def _measured(progress: Progress) -> str:
    total = "" if progress.bytes_total is None else f" of {decimal(progress.bytes_total)}"
    objects = "" if progress.objects_total is None else f", {progress.objects_done} of {progress.objects_total} objects"
    return f"{decimal(progress.bytes_done)}{total}{objects}"
