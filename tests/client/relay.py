"""A relay before a service that cuts connections: after so many bytes of the answers, whatever they are."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from httpx import Client

BLOCK = 65536


@dataclass
class Relay:
    """`limits` are for the connections to come, one each: bytes after which it is cut, once the service has answered;
    afterwards none is cut. `connections` counts them."""

    address: str
    limits: list[int] = field(default_factory=list)
    connections: int = 0


@contextmanager
def relay(client: Client) -> Iterator[Relay]:
    """One before the service of a client."""
    upstream = (client.base_url.host, client.base_url.port or 80)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            made.connections += 1
            left = made.limits.pop(0) if made.limits else None
            with socket.create_connection(upstream) as service:
                threading.Thread(target=_pass_on, args=(self.request, service), daemon=True).start()
                while data := service.recv(BLOCK):
                    with suppress(OSError):
                        self.request.sendall(data[:left])
                    if left is not None:
                        left -= len(data)
                        if left <= 0:
                            return

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        made = Relay(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()


def _pass_on(client: socket.socket, service: socket.socket) -> None:
    with suppress(OSError):
        while data := client.recv(BLOCK):
            service.sendall(data)
        service.shutdown(socket.SHUT_WR)
