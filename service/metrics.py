"""What `/metrics` tells Prometheus: counted from SQL at every scrape, since the workers are other processes.

All are gauges. Jobs and objects are counted as they are now, and deleting a job makes the numbers smaller.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import TypeVar

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from schemas.errors import VerificationError
from schemas.problems import TYPE_PREFIX
from schemas.states import JobState, ObjectState, Stage, WorkerState
from schemas.tables import ClaimRow, JobRow, ObjectRow
from service.dependencies import Service
from service.worker_documents import count_workers
from workers.application import waiting_messages
from workers.database import database_time
from workers.devices import QUEUES
from workers.job_progress import progress_of

Label = TypeVar("Label", bound=str)

logger = logging.getLogger(__name__)

_RATED = (JobState.CONVERTING, JobState.VERIFYING)


def metrics_document(service: Service) -> bytes:
    """All metrics in Prometheus's text format. Raises OperationalError if the database cannot be used."""
    registry = CollectorRegistry()
    registry.register(_ServiceCollector(service))
    return generate_latest(registry)


class _ServiceCollector(Collector):
    def __init__(self, service: Service) -> None:
        self._service = service

    def describe(self) -> Iterator[Metric]:
        """Nothing: registering would otherwise collect once more."""
        yield from ()

    def collect(self) -> Iterator[Metric]:
        with self._service.database.reading() as session:
            yield from _jobs(session)
            yield from _objects(session)
            yield _rates(session)
            yield from _claims(session)
            yield _workers(session)
        yield from _queue(self._service)
        yield _gauge(
            "disk_free_bytes", "Bytes that the disk of the work files can give.", self._service.storage.free_bytes()
        )


def _jobs(session: Session) -> Iterator[Metric]:
    query = select(JobRow.state, func.count()).group_by(JobRow.state)
    counts = {state: count for state, count in session.execute(query)}  # noqa: C416 - dict() takes it for a mapping
    yield _by("jobs", "Jobs by state.", "state", {state: counts.get(state, 0) for state in JobState})
    problem = JobRow.error["type"].as_string()
    failures = select(problem, func.count()).where(JobRow.state == JobState.FAILED).group_by(problem)
    found = {str(kind).removeprefix(TYPE_PREFIX): count for kind, count in session.execute(failures)}
    yield _by("failed_jobs", "Failed jobs by problem.", "problem", {VerificationError.slug: 0, **found})
    oldest = session.scalar(select(func.min(JobRow.created_at)).where(JobRow.state == JobState.QUEUED))
    waited = 0.0 if oldest is None else (database_time(session) - oldest).total_seconds()
    yield _gauge("oldest_queued_seconds", "How long the oldest queued job has waited for a worker.", waited)


def _objects(session: Session) -> Iterator[Metric]:
    # All objects of a job that is ready are verified, and its own row has their number and size: most of what is there.
    unfinished = select(JobRow.id).where(JobRow.state != JobState.READY)
    query = (
        select(ObjectRow.state, func.count(), func.sum(ObjectRow.bytes))
        .where(ObjectRow.job_id.in_(unfinished))
        .group_by(ObjectRow.state)
    )
    counts = dict.fromkeys(ObjectState, (0, 0))
    counts |= {state: (count, int(size)) for state, count, size in session.execute(query)}
    totals = select(func.sum(JobRow.objects_total), func.sum(JobRow.payload_bytes)).where(
        JobRow.state == JobState.READY
    )
    ready, ready_bytes = session.execute(totals).one()
    verified, verified_bytes = counts[ObjectState.VERIFIED]
    counts[ObjectState.VERIFIED] = (verified + int(ready or 0), verified_bytes + int(ready_bytes or 0))
    counted = {state: count for state, (count, _) in counts.items()}
    sized = {state: size for state, (_, size) in counts.items()}
    yield _by("objects", "Objects by state; those encoded or verified have been made.", "state", counted)
    yield _by("object_bytes", "Payload bytes of the objects by state.", "state", sized)


def _rates(session: Session) -> Metric:
    jobs = session.scalars(select(JobRow).where(JobRow.state.in_(_RATED))).all()
    progress = progress_of(session, jobs)
    rates = {
        state: sum(progress[job.id].bytes_per_second or 0.0 for job in jobs if job.state is state) for state in _RATED
    }
    return _by("bytes_per_second", "Payload bytes a second of the jobs in a state, together.", "state", rates)


def _claims(session: Session) -> Iterator[Metric]:
    alive = ClaimRow.expires_at >= database_time(session)
    query = select(ClaimRow.stage, func.count()).where(alive).group_by(ClaimRow.stage)
    counts = {stage: count for stage, count in session.execute(query)}  # noqa: C416 - as above
    yield _by(
        "claims", "Claims that workers keep alive, by stage.", "stage", {one: counts.get(one, 0) for one in Stage}
    )
    expired = session.scalar(select(func.count()).where(~alive)) or 0
    yield _gauge("expired_claims", "Claims of workers that gave no sign of life in time, not yet undone.", expired)


def _workers(session: Session) -> Metric:
    counts = count_workers(session)
    family = GaugeMetricFamily(
        "ninforge_workers", "Workers by device, busy, idle or lost without a sign of life.", labels=["device", "state"]
    )
    for device in QUEUES:
        for state in (WorkerState.BUSY, WorkerState.IDLE, WorkerState.LOST):
            family.add_metric([device, state], counts[device, state])
    return family


def _queue(service: Service) -> Iterator[Metric]:
    """Left out if the queue cannot be reached, which must not hide the rest."""
    try:
        waiting = waiting_messages(service.queue)
    except Exception:
        logger.warning("the queue cannot be reached", exc_info=True)
        return
    yield _by("queue_messages", "Messages that wait, by queue.", "queue", waiting)


def _gauge(name: str, documentation: str, value: float) -> Metric:
    return GaugeMetricFamily(f"ninforge_{name}", documentation, value=value)


def _by(name: str, documentation: str, label: str, values: Mapping[Label, float]) -> Metric:
    family = GaugeMetricFamily(f"ninforge_{name}", documentation, labels=[label])
    for member, value in values.items():
        family.add_metric([member], value)
    return family
