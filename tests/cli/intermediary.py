"""What may stand between a client and a service: passes requests on, and cuts, stalls or changes the answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from httpx import Client, Response

PASSED = ("content-type", "content-range", "etag", "accept-ranges")


@dataclass
class Answer:
    """An answer on its way to the client."""

    status: int
    headers: dict[str, str]
    body: bytes
    sent: int | None = None
    """Bytes of the body that are sent before the connection ends or stalls; None for all."""
    stalls: bool = False


@dataclass
class Intermediary:
    """`change` sees each answer of the service with the path that it is for; `requests` are those that came: path and
    Range header."""

    address: str
    change: Callable[[str, Answer], Answer]
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def paths(self) -> list[str]:
        """The last part of each path that was asked for."""
        return [path.rpartition("/")[2] for path, _ in self.requests]


def unchanged(_: str, answer: Answer) -> Answer:
    return answer


@contextmanager
def intermediary(client: Client) -> Iterator[Intermediary]:
    """One before the service of a client."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            between.requests.append((self.path, self.headers["Range"]))
            headers = {name: self.headers[name] for name in ("Range", "If-Range") if self.headers[name]}
            answer = between.change(self.path, _answer(client.get(self.path, headers=headers)))
            self.send_response(answer.status)
            for name, value in {**answer.headers, "content-length": str(len(answer.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body[: answer.sent])
            self.wfile.flush()
            if answer.stalls:
                between.released.wait(60)
            self.close_connection = True

        def log_message(self, format: str, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    between = Intermediary(f"http://127.0.0.1:{server.server_address[1]}", unchanged)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield between
    finally:
        between.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _answer(found: Response) -> Answer:
    return Answer(
        found.status_code, {name: found.headers[name] for name in PASSED if name in found.headers}, found.content
    )
