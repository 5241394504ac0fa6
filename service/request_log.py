"""One log record a request, and an id by which all records of a request are found."""

from __future__ import annotations

import logging
import re
import time
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from schemas.problems import INTERNAL
from service.problems import ProblemResponse
from workers.logs import logging_with

logger = logging.getLogger(__name__)

HEADER = "X-Request-ID"
_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
"""Asked every few seconds by machines: these requests are told only if they fail."""


class RequestLogMiddleware:
    """Goes around all that may fail. An id that the caller sends in X-Request-ID is kept, and every answer has it.

    What nothing has made an answer of is a fault of the program: it is logged, and answered as one.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(HTTPConnection(scope))
        status: int | None = None

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = request_id
            await send(message)

        with logging_with(request_id=request_id):
            began = time.monotonic()
            try:
                await self._app(scope, receive, send_with_id)
            except Exception:
                logger.exception("a fault of the program")
                if status is not None:  # too late for another answer: the server breaks off the connection
                    raise
                await ProblemResponse(INTERNAL)(scope, receive, send_with_id)
            finally:
                _tell(scope, status, time.monotonic() - began)


def _request_id(connection: HTTPConnection) -> str:
    given = connection.headers.get(HEADER, "")
    return given if _ID.fullmatch(given) else uuid4().hex


def _tell(scope: Scope, status: int | None, seconds: float) -> None:
    members: dict[str, Any] = {
        "method": scope["method"],
        "path": scope["raw_path"].decode("ascii", "replace"),
        "status": status,
        "seconds": round(seconds, 6),
    }
    if scope.get("client"):
        members["client"] = scope["client"][0]
    if "user" in scope and scope["user"].is_authenticated:
        members["token"] = scope["user"].display_name
    if "job_id" in scope.get("path_params", {}):
        members["job_id"] = scope["path_params"]["job_id"]
    failed = status is None or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    level = logging.DEBUG if scope["path"] in _PROBES and not failed else logging.INFO
    logger.log(level, "%s %s %s", members["method"], members["path"], status, extra=members)
