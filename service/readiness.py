"""Whether the service can do its work: the checks of `/readyz`. What they say has no place of the server in it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from tempfile import TemporaryFile

from anyio import CapacityLimiter, create_task_group, move_on_after, to_thread
from anyio.lowlevel import RunVar
from sqlalchemy import func, select

from schemas.tables import JobRow
from service.dependencies import Service
from workers import liveness
from workers.application import waiting_messages

logger = logging.getLogger(__name__)

LEAST_FREE_BYTES = 256 << 20
"""With less room than this on the disk, hardly any job could be planned."""

CHECK_SECONDS = 5.0
"""A check that takes longer has failed."""

Check = Callable[[Service], str | None]
"""What is wrong, or None. Whatever it raises is logged, and means that what is checked cannot be used."""

_THREADS = 8
_limiter: RunVar[CapacityLimiter] = RunVar("readiness")


def _check_database(service: Service) -> str | None:
    with service.database.reading() as session:
        session.execute(select(JobRow.id).limit(1))
    return None


def _check_queue(service: Service) -> str | None:
    waiting_messages(service.queue)
    return None


def _check_disk(service: Service) -> str | None:
    with TemporaryFile(dir=service.settings.data) as file:
        file.write(b"\0")
    if service.storage.free_bytes() < LEAST_FREE_BYTES:
        return f"expected {LEAST_FREE_BYTES} bytes free, found less"
    return None


def _check_roots(service: Service) -> str | None:
    roots = service.settings.source_roots
    unreadable = [number for number, root in enumerate(roots, 1) if not os.access(root, os.R_OK | os.X_OK)]
    if not unreadable:
        return None
    return (
        f"expected {len(roots)} source roots that can be read, found number {', '.join(map(str, unreadable))} not to be"
    )


CHECKS: Mapping[str, Check] = {
    "database": _check_database,
    "queue": _check_queue,
    "disk": _check_disk,
    "roots": _check_roots,
}


def _check_workers(service: Service) -> str | None:
    with service.database.reading() as session:
        alive = session.scalar(select(func.count()).where(liveness.is_alive(session)))
    return None if alive else "no worker is alive: jobs are taken, and wait for one"


WARNING_CHECKS: Mapping[str, Check] = {"workers": _check_workers}
"""What keeps jobs waiting, and nobody from submitting them: workers may come later, and are often started later."""


async def failed_checks(service: Service) -> dict[str, str]:
    """The checks that fail, those of warnings too, by name, each with what is wrong. All run at the same time."""
    checks = {**CHECKS, **WARNING_CHECKS}
    failed: dict[str, str] = {}

    async def run(name: str, check: Check) -> None:
        reason: str | None = f"did not answer within {CHECK_SECONDS:g} seconds"
        with move_on_after(CHECK_SECONDS):
            reason = await to_thread.run_sync(_reason, name, check, service, abandon_on_cancel=True, limiter=_threads())
        if reason is not None:
            failed[name] = reason

    async with create_task_group() as group:
        for name, check in checks.items():
            group.start_soon(run, name, check)
    return {name: failed[name] for name in checks if name in failed}


def _reason(name: str, check: Check, service: Service) -> str | None:
    try:
        return check(service)
    except Exception:
        logger.warning("not ready: %s", name, exc_info=True)
        return "cannot be used; the log has the details"


def _threads() -> CapacityLimiter:
    """Threads for checks alone, so that those which hang leave the ones that serve requests free."""
    limiter = _limiter.get(None)
    if limiter is None:
        limiter = CapacityLimiter(_THREADS)
        _limiter.set(limiter)
    return limiter
