"""The HTTP server: uvicorn on a socket that is open before anyone is told its address."""

from __future__ import annotations

import gc
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from celery import Celery

from schemas.errors import OutputError
from service.application import create_application
from service.problem_protocol import ProblemProtocol
from service.registered_documents import registered_document
from workers.engine.recipe.load import NO_OVERRIDES
from workers.engine.recipe.registered import registered_ids
from workers.logs import configure_logging
from workers.recipe_expansion import expanded
from workers.settings import Settings

Announce = Callable[[str], None]
"""Told the address that the service listens on."""

_SHUTDOWN_SECONDS = 10
_IDLE_SECONDS = 75
"""How long a connection stays open without a request: longer than clients and proxies mostly keep one, so that it is
they who close it. One that closes just as it is used again fails that request."""


def run_server(settings: Settings, announce: Announce) -> None:
    """Serves HTTP until SIGTERM or SIGINT. Raises OutputError if the address cannot be listened on."""
    configure_logging()
    with listening(settings) as listener:
        application = create_application(settings)
        _load_what_requests_need(application.state.service.queue)
        server = _AnnouncingServer(
            lambda: announce(_address(settings.host, listener)),
            application.state.service.end_streams,
            uvicorn.Config(
                application,
                http=ProblemProtocol,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
                timeout_keep_alive=_IDLE_SECONDS,
            ),
        )
        try:
            server.run(sockets=[listener])
        finally:
            application.state.service.close()


class _AnnouncingServer(uvicorn.Server):
    """A server that tells of itself once it answers, and ends the streams of events before it waits for requests that
    are under way."""

    def __init__(self, started: Callable[[], None], end_streams: Callable[[], None], config: uvicorn.Config) -> None:
        super().__init__(config)
        self._tell = started
        self._end_streams = end_streams

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._tell()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._end_streams()
        await super().shutdown(sockets)


def _load_what_requests_need(queue: Celery) -> None:
    """Expands the registered recipes and loads what sends messages, for which the first requests would wait. All of it
    stays, and is kept from the garbage collector, which stops every request while it looks through so much."""
    for recipe_id in registered_ids():
        expanded(registered_document(recipe_id), NO_OVERRIDES)
    queue.amqp.queues  # noqa: B018 - made when it is first looked at
    gc.collect()
    gc.freeze()


@contextmanager
def listening(settings: Settings) -> Iterator[socket.socket]:
    """A socket that listens on the settings' address. Raises OutputError if it cannot be listened on."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        raise OutputError(
            f"address {settings.host}, port {settings.port}", expected="one to listen on", found=str(error.strerror)
        ) from error
    with listener:
        # Connections inherit it. Without it the body of an answer waits until its head is acknowledged.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listener


def _address(host: str, listener: socket.socket) -> str:
    port = listener.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
