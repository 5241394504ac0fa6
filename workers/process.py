"""One worker process: the Celery worker with its one task, and the sweeper beside it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from celery import Celery, signals
from sqlalchemy.exc import SQLAlchemyError

from workers import liveness
from workers.application import ADVANCE, celery_application, wake
from workers.conversion import WorkerContext
from workers.database import Database
from workers.devices import CUDA, queues_of, served_by
from workers.engine.encode.encoders import NATIVE, Encoders
from workers.liveness import WorkerIdentity
from workers.logs import configure_logging
from workers.settings import Settings
from workers.storage import Storage
from workers.sweeper import sweep
from workers.turns import take_turns
from workers.webhook import Webhook, deliver

logger = logging.getLogger(__name__)


def run_worker(settings: Settings) -> int:
    """Runs a worker in this process until SIGTERM or SIGINT; its exit status. Raises DeviceError if it has no GPU to
    encode on and should.

    A conversion that is under way then stops at its next block and hands its claim back.
    """
    configure_logging()
    encoders = _encoders(settings)
    storage = Storage(settings.data)
    storage.prepare()
    database = Database.of(settings)
    database.upgrade()
    identity = WorkerIdentity.of_this_process(settings)
    context = WorkerContext(identity.name, settings, database, storage, threading.Event(), encoders)
    application = celery_application(settings)
    busy = _register_task(application, context)
    sweeper = threading.Thread(
        target=_sweep_by_time, args=(application, context, identity, busy), name="sweeper", daemon=True
    )
    messenger = threading.Thread(target=_deliver_by_time, args=(context,), name="messenger", daemon=True)

    def stop(**_: object) -> None:
        context.stopping.set()

    def keep_logging(**_: object) -> None:
        """That there is a receiver keeps Celery from setting up log handlers of its own."""

    signals.worker_shutting_down.connect(stop)
    signals.setup_logging.connect(keep_logging)
    worker = application.Worker(
        hostname="ninforge@localhost",
        queues=queues_of(settings.device),
        pool="threads",
        concurrency=1,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        quiet=True,
    )
    sweeper.start()
    messenger.start()
    try:
        worker.start()
    finally:
        context.stopping.set()
        sweeper.join()
        messenger.join()
        _tell_of_end(database, identity)
        database.close()
    return int(worker.exitcode or 0)


def _tell_of_end(database: Database, identity: WorkerIdentity) -> None:
    try:
        with database.writing() as session:
            liveness.end(session, identity)
    except SQLAlchemyError:
        logger.warning("the database does not learn that this worker ends; it will count as lost", exc_info=True)


def _encoders(settings: Settings) -> Encoders:
    if settings.device == CUDA:
        from workers.cuda.backend import device_encoders

        return device_encoders()
    return NATIVE


class _Busy:
    """Whether the worker is at a job."""

    def __init__(self) -> None:
        self._free = threading.Lock()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        with self._free:
            yield

    def __bool__(self) -> bool:
        return self._free.locked()


def _register_task(application: Celery, context: WorkerContext) -> _Busy:
    busy = _Busy()

    @application.task(name=ADVANCE)  # type: ignore[untyped-decorator] # Celery has no types
    def advance(job_id: str) -> None:
        with busy.at_work():
            take_turns(context, UUID(job_id))

    return busy


def _sweep_by_time(application: Celery, context: WorkerContext, identity: WorkerIdentity, busy: _Busy) -> None:
    """At once and then every `sweep_seconds`: a sign of life and a sweep. An idle worker sends the message that a
    waiting job has lost, or that brings another worker to a job in which there is work for several."""
    while not context.stopping.is_set():
        try:
            with context.database.writing() as session:
                liveness.beat(session, identity)
            waiting = sweep(
                context.database, context.storage, served_by(context.settings.device), context.settings.retention
            )
            if waiting is not None and not busy:
                wake(application, waiting, context.settings.device)
        except Exception:
            logger.exception("a sweep failed; the next one may not")
        context.stopping.wait(context.settings.sweep_seconds)


def _deliver_by_time(context: WorkerContext) -> None:
    """At once and then every `sweep_seconds`: what the webhook is to be told. Apart from the sweeper, since a receiver
    may take its time."""
    webhook = Webhook.of(context.settings)
    while webhook is not None and not context.stopping.is_set():
        try:
            deliver(context.database, webhook, context.stopping.is_set)
        except Exception:
            logger.exception("the webhook could not be told; it will be with the next sweep")
        context.stopping.wait(context.settings.sweep_seconds)
