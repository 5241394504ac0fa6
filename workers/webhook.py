"""Sends the events of the outbox to the webhook, one after the other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus

import httpx

from workers import webhook_events
from workers.database import Database
from workers.logs import logging_with
from workers.settings import Settings
from workers.webhook_events import WebhookEvent
from workers.webhook_signature import identifying_headers

logger = logging.getLogger(__name__)

ANSWER_SECONDS = 10.0
"""What a receiver has for all of its answer: less than the wait for another attempt, or two might run at once."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where events go, and what they are signed with."""

    url: str
    secret: str | None

    @classmethod
    def of(cls, settings: Settings) -> Webhook | None:
        """The webhook that the settings name."""
        return None if settings.webhook_url is None else cls(settings.webhook_url, settings.webhook_secret)

    def send(self, event: WebhookEvent) -> str | None:
        """Sends an event; why it was not taken, None if it was. Redirects are not followed: they would carry signed
        documents to wherever a receiver says."""
        body = event.body.encode()
        headers = {
            "content-type": "application/json",
            **identifying_headers(event.id, datetime.now(UTC), body, self.secret),
        }
        try:
            status = asyncio.run(_post(self.url, body, headers))
        except TimeoutError:
            return f"no answer within {ANSWER_SECONDS:g} seconds"
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return type(error).__name__
        return None if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES else f"status {status}"


async def _post(url: str, body: bytes, headers: dict[str, str]) -> int:
    async with (
        asyncio.timeout(ANSWER_SECONDS),
        httpx.AsyncClient(timeout=None) as client,  # noqa: S113 - the one before is for all
        client.stream("POST", url, content=body, headers=headers) as answer,
    ):
        return answer.status_code


def deliver(database: Database, webhook: Webhook, is_stopping: Callable[[], bool]) -> None:
    """Sends all that is due, until it is to stop. What fails is due again later."""
    while not is_stopping():
        with database.writing() as session:
            event = webhook_events.take(session)
        if event is None:
            return
        with logging_with(job_id=str(event.job_id)):
            reason = webhook.send(event)
            if reason is not None:
                logger.warning("job %s: the webhook did not take its end: %s", event.job_id, reason)
                continue
        with database.writing() as session:
            webhook_events.settle(session, event)
