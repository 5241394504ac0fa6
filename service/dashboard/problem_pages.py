"""Problems as pages, for browsers that asked for a page: what is wrong, where, and what to do next."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from schemas.problems import MEDIA_TYPE, TYPE_PREFIX, Problem
from service.dashboard.page import render

_NEXT_STEPS: Mapping[str, str] = {
    "forbidden": "Sign out, and in again with a token that has the scope submit.",
    "not-found": "It may have been removed. Go back to the list of jobs, or of recipes.",
    "wrong-state": "Go back and load the page again: the job has moved on since it was shown.",
    "too-large": "Send less at once, or ask whoever runs the service for a larger NINFORGE_MAX_BODY_BYTES.",
    "database": "Wait a moment, then load the page again. If that does not help, the log of the service has the cause.",
    "internal": "Load the page again. If that does not help, the log of the service has the cause.",
}
_OTHERWISE = "Go back, mend what is named here, and try again."


class ProblemPageMiddleware:
    """Renders the problem documents of pages' own routes as pages. The interface below /v1 stays as it is described."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _wants_page(scope):
            await self._app(scope, receive, send)
            return
        started: Message | None = None
        body = b""

        async def send_page(message: Message) -> None:
            nonlocal started, body
            if message["type"] == "http.response.start" and _is_problem(message):
                started = message
            elif started is None:
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body", False):
                    await _send_page(scope, receive, send, started, body)

        await self._app(scope, receive, send_page)


async def _send_page(scope: Scope, receive: Receive, send: Send, started: Message, body: bytes) -> None:
    found = Problem.model_validate(json.loads(body))
    page = render(
        Request(scope, receive),
        "problem.html",
        problem=found,
        next_step=_NEXT_STEPS.get(found.type.removeprefix(TYPE_PREFIX), _OTHERWISE),
    )
    page.status_code = found.status
    kept = MutableHeaders(raw=list(started["headers"]))
    for name in ("content-type", "content-length"):
        del kept[name]
    page.raw_headers.extend(kept.raw)
    await page(scope, receive, send)


def _wants_page(scope: Scope) -> bool:
    is_interface = scope["path"].startswith("/v1/") or scope["path"] in {"/healthz", "/readyz", "/metrics"}
    return not is_interface and "text/html" in Headers(scope=scope).get("accept", "")


def _is_problem(start: Message) -> bool:
    return MutableHeaders(raw=list(start["headers"])).get("content-type", "").startswith(MEDIA_TYPE)
