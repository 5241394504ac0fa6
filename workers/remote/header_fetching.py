"""How sources are fetched where they are only planned with: quickly or not at all."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from schemas.errors import FetchError
from workers.remote.download import Advance
from workers.remote.places import HubPlace

PLANNING_SECONDS = 120.0
"""Longer than this nobody waits for the answer to a request."""

_PLANS_AT_ONCE = 8
_plans = BoundedSemaphore(_PLANS_AT_ONCE)


class HeaderFetching:
    """A Fetching for one plan: of the commits as they are now, and not for long."""

    def __init__(self) -> None:
        self._end = time.monotonic() + PLANNING_SECONDS

    def check(self) -> None:
        """Raises FetchError when the time is over."""
        if time.monotonic() > self._end:
            raise FetchError(
                "remote sources", expected=f"what planning reads within {PLANNING_SECONDS:g} seconds", found="less"
            )

    def commit_of(self, place: HubPlace) -> str | None:  # noqa: ARG002 - none is recorded
        return None

    def resolved(self, place: HubPlace, commit: str) -> str:  # noqa: ARG002 - nothing is recorded
        return commit

    @contextmanager
    def watching(self, *_: int) -> Iterator[Advance]:
        yield lambda _: self.check()


@contextmanager
def one_of_few_plans() -> Iterator[None]:
    """For as long as the block runs, one of the few plans that a process makes of remote sources at once: a host that
    is slow holds the threads of those, and not all that answer requests.

    Raises FetchError at once where so many are being made already.
    """
    if not _plans.acquire(blocking=False):
        raise FetchError(
            "remote sources",
            expected=f"at most {_PLANS_AT_ONCE} plans that read them at once",
            found="so many others: try again in a moment",
        )
    try:
        yield
    finally:
        _plans.release()
