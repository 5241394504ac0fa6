"""Worker processes as the interface shows them, read from SQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from schemas.interface import Page, Worker, WorkerTask
from schemas.states import Stage, WorkerState
from schemas.tables import ClaimRow, JobRow, ObjectRow, WorkerRow
from workers import liveness
from workers.database import database_time
from workers.devices import queues_of


def worker_page(session: Session, *, limit: int, cursor: str | None) -> Page[Worker]:
    """Workers by name; the cursor is the name of the last one before the page."""
    query = select(WorkerRow, liveness.is_alive(session)).order_by(WorkerRow.name).limit(limit + 1)
    if cursor is not None:
        query = query.where(WorkerRow.name > cursor)
    rows = session.execute(query).all()
    shown = rows[:limit]
    claims = _claims_of(session, [row.name for row, _ in shown])
    items = tuple(_worker(session, row, claims.get(row.name), is_alive=is_alive) for row, is_alive in shown)
    return Page(items=items, next=items[-1].name if len(rows) > limit else None)


def count_workers(session: Session) -> Counter[tuple[str, WorkerState]]:
    """How many workers there are that have not ended, by device and state."""
    busy = select(ClaimRow.worker).where(ClaimRow.expires_at >= database_time(session))
    query = select(WorkerRow.device, liveness.is_alive(session), WorkerRow.name.in_(busy))
    rows = session.execute(query.where(WorkerRow.ended_at.is_(None)))
    return Counter((device, _state(is_alive=is_alive, is_busy=is_busy)) for device, is_alive, is_busy in rows)


def _state(*, is_alive: bool, is_busy: bool) -> WorkerState:
    if not is_alive:
        return WorkerState.LOST
    return WorkerState.BUSY if is_busy else WorkerState.IDLE


def _worker(session: Session, row: WorkerRow, claim: ClaimRow | None, *, is_alive: bool) -> Worker:
    state = WorkerState.ENDED if row.ended_at is not None else _state(is_alive=is_alive, is_busy=claim is not None)
    return Worker(
        name=row.name,
        host=row.host,
        pid=row.pid,
        device=row.device,
        queues=queues_of(row.device),
        threads=row.threads,
        version=row.version,
        state=state,
        started_at=row.started_at,
        heartbeat_at=row.heartbeat_at,
        ended_at=row.ended_at,
        task=None if claim is None or state is not WorkerState.BUSY else _task(session, claim),
    )


def _claims_of(session: Session, names: Sequence[str]) -> dict[str, ClaimRow]:
    """The newest claim that each of these workers keeps alive."""
    query = select(ClaimRow).where(ClaimRow.worker.in_(names), ClaimRow.expires_at >= database_time(session))
    return {claim.worker: claim for claim in session.scalars(query.order_by(ClaimRow.id))}


def _task(session: Session, claim: ClaimRow) -> WorkerTask:
    """What is done under a claim, and the first of its objects that is not gone through: they are taken in order."""
    undone = select(ObjectRow.name).where(ObjectRow.job_id == claim.job_id, ObjectRow.bytes_done < ObjectRow.bytes)
    if claim.stage is Stage.ENCODING:
        undone = undone.where(ObjectRow.claim_id == claim.id).order_by(ObjectRow.bytes.desc(), ObjectRow.index)
    else:
        undone = undone.order_by(ObjectRow.index)
    return WorkerTask(
        job=claim.job_id,
        job_name=session.get_one(JobRow, claim.job_id).name,
        stage=claim.stage,
        object=session.scalar(undone.limit(1)),
    )
