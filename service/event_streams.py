"""Streams of server-sent events: what all of them have in common, and how many a process has open."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http import HTTPStatus

from fastapi import HTTPException
from fastapi.sse import EventSourceResponse
from starlette.types import Receive, Scope, Send

PING_SECONDS = 15.0
"""How often a quiet stream shows that it lives."""

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_COME_BACK = {"Retry-After": "10"}


class EventStreams:
    """The open streams of this process. All of it runs in the event loop of the server."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open = 0

    def response(self, events: AsyncIterator[bytes]) -> EventSourceResponse:
        """The answer that streams these events. Answered with 503 instead where as many are open as may be."""
        return _CountedResponse(self, events)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """One stream more, as long as the block runs. Raises HTTPException 503."""
        if self._open >= self._most:
            detail = f"This process has {self._most} streams of events open and takes no more. Come back in a moment."
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, detail, _COME_BACK)
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1


class _CountedResponse(EventSourceResponse):
    def __init__(self, streams: EventStreams, events: AsyncIterator[bytes]) -> None:
        super().__init__(events, headers=_HEADERS)
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._streams.counted():
            await super().__call__(scope, receive, send)
