"""A server whose answers are written down beforehand, for what a service seldom says."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

EVENTS = "text/event-stream"
JSON = "application/json"
PROBLEM = "application/problem+json"


@dataclass(frozen=True)
class Line:
    """One answer. The connection ends after it."""

    status: int
    media_type: str = JSON
    body: str = ""


@dataclass
class Script:
    """The answers still to be given, and the headers of the requests that came."""

    address: str
    answers: list[Line]
    requests: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def scripted(*answers: Line) -> Iterator[Script]:
    """A server that gives these answers in turn."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            script.requests.append({name.lower(): value for name, value in self.headers.items()})
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer = script.answers.pop(0)
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.media_type)
            self.end_headers()
            self.wfile.write(answer.body.encode())

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    script = Script(f"http://127.0.0.1:{server.server_address[1]}", list(answers))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
