"""Which worker processes there are: each keeps a row alive, idle or not, under the name that its claims carry."""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.orm import Session

from schemas.tables import WorkerRow
from workers.database import database_time
from workers.settings import Settings

KEPT = timedelta(days=1)
"""How long a worker is still told of after its last sign of life."""

_SWEEPS = 3


@dataclass(frozen=True, slots=True)
class WorkerIdentity:
    """One worker process. Names are never used twice: containers that follow one another have the same host and pid."""

    name: str
    host: str
    pid: int
    device: str
    threads: int
    version: str
    patience: timedelta
    """How long it may give no sign of life before it counts as lost: it gives one with each sweep."""

    @classmethod
    def of_this_process(cls, settings: Settings) -> WorkerIdentity:
        """This process under a new name."""
        host, pid = socket.gethostname(), os.getpid()
        return cls(
            name=f"{host}-{pid}-{secrets.token_hex(3)}",
            host=host,
            pid=pid,
            device=settings.device,
            threads=settings.threads,
            version=version("ninforge"),
            patience=timedelta(seconds=max(settings.lease_seconds, _SWEEPS * settings.sweep_seconds)),
        )


def beat(session: Session, worker: WorkerIdentity) -> None:
    """Gives a sign of life, the first one or another, and forgets workers of long ago.

    It has its own row first and waits for none of the others: two whose machine slept would each forget the other, and
    wait for it in a circle.
    """
    now = database_time(session)
    row = session.get(WorkerRow, worker.name, with_for_update=True)
    if row is None:
        row = WorkerRow(
            name=worker.name,
            host=worker.host,
            pid=worker.pid,
            device=worker.device,
            threads=worker.threads,
            version=worker.version,
            started_at=now,
        )
        session.add(row)
    row.heartbeat_at = now
    row.expires_at = now + worker.patience
    old = select(WorkerRow.name).where(WorkerRow.heartbeat_at < now - KEPT).with_for_update(skip_locked=True)
    session.execute(delete(WorkerRow).where(WorkerRow.name.in_(old)))


def end(session: Session, worker: WorkerIdentity) -> None:
    """Notes that a worker ends as it was asked to."""
    now = database_time(session)
    session.execute(update(WorkerRow).where(WorkerRow.name == worker.name).values(ended_at=now))


def is_alive(session: Session) -> ColumnElement[bool]:
    """That a row is of a worker which has not ended and gave a sign of life in time."""
    return WorkerRow.ended_at.is_(None) & (WorkerRow.expires_at >= database_time(session))
