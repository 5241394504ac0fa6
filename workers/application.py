"""The Celery application: one task, whose message carries nothing but a job's id."""

from __future__ import annotations

import logging
from uuid import UUID

from celery import Celery
from kombu.entity import Exchange, Queue

from workers import transport
from workers.devices import CPU, QUEUES
from workers.settings import Settings

logger = logging.getLogger(__name__)

ADVANCE = "ninforge.advance"

_REDIS_SECONDS = 5.0
"""What Redis has to answer in. Workers ask it to wait for messages for a second at a time."""

_ONCE_MORE = {"max_retries": 1, "interval_start": 0}
"""How a message is sent: over another connection if the first one is broken."""


def celery_application(settings: Settings) -> Celery:
    """The application for these settings, with no task registered: enough to send messages."""
    application = Celery("ninforge", set_as_current=False)
    application.conf.update(
        broker_url=settings.broker_url,
        broker_connection_retry_on_startup=True,
        task_queues=[Queue(name, Exchange(""), routing_key=name) for name in QUEUES],
        task_default_queue=CPU,
        task_default_exchange="",  # the anonymous one: see workers/transport.py
        task_acks_late=True,
        task_ignore_result=True,
        task_serializer="json",
        accept_content=["json"],
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
    )
    if settings.broker_url is not None:
        limits = {"socket_connect_timeout": _REDIS_SECONDS, "socket_timeout": _REDIS_SECONDS}
        application.conf.update(broker_transport_options=limits)
    else:
        transport.register()
        application.conf.update(
            broker_url=f"{transport.SCHEME}://localhost",
            broker_transport_options=transport.transport_options(settings.data / "queue"),
        )
    return application


def wake(application: Celery, job_id: UUID, queue: str = CPU) -> None:
    """Sends a message to the workers of a queue that there is work in this job.

    Whatever goes wrong with it is logged and no more, since the sweeper finds the job all the same.
    """
    try:
        application.send_task(ADVANCE, [str(job_id)], queue=queue, retry_policy=_ONCE_MORE)
    except Exception:
        logger.warning("job %s waits for the sweeper: the queue took no message", job_id, exc_info=True)


def waiting_messages(application: Celery) -> dict[str, int]:
    """How many messages wait in each queue. Raises whatever the broker's client does if they cannot be reached."""
    with application.connection_for_read() as connection:
        connection.connect()
        channel = connection.channel()
        return {name: int(channel.queue_declare(queue=name).message_count) for name in QUEUES}
