"""Which jobs a worker is at, one after the other, so that none waits for the end of another."""

from __future__ import annotations

from uuid import UUID

from workers import claims
from workers.conversion import Conversion, WorkerContext
from workers.devices import served_by
from workers.logs import logging_with


def take_turns(context: WorkerContext, job_id: UUID) -> None:
    """Advances a job, then those that no worker is at: each for a batch where others wait, and else as far as it goes.

    A job is left between batches, with some of it pending, and is then one that no worker is at: its turn comes again.
    """
    turn: UUID | None = job_id
    while turn is not None and not context.stopping.is_set():
        turn = _take_turn(context, turn)


def _take_turn(context: WorkerContext, job_id: UUID) -> UUID | None:
    """The job whose turn is next; None where there is none, or nothing to do in this one."""

    def following() -> UUID | None:
        with context.database.reading() as session:
            return claims.unattended_job(session, job_id, served_by(context.settings.device))

    with logging_with(job_id=str(job_id)):
        has_worked = Conversion(context, job_id).advance(lambda: following() is not None)
    return following() if has_worked else None
