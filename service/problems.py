"""The one place where errors become HTTP answers: problem details (RFC 9457) for every one of them.

Errors of the engine, of request validation and of routing are handled as exceptions; what else is raised is a fault of
the program (service/request_log.py). What ready-made parts answer on their own as plain text (a Host that is not
allowed, a body too large, a range that cannot be served) is rewritten by `ProblemMiddleware` on its way out.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from sqlalchemy.exc import OperationalError
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from schemas.errors import NinforgeError, TooManyJobsError
from schemas.problems import MEDIA_TYPE, Problem, ProblemFault, problem
from schemas.recipe.pointer import escape
from workers.public_problems import public_problem
from workers.settings import Settings

logger = logging.getLogger(__name__)

_COME_BACK = {"Retry-After": "30"}
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")

_KINDS: Mapping[HTTPStatus, tuple[str, str]] = {
    HTTPStatus.BAD_REQUEST: ("bad-request", "Bad Request"),
    HTTPStatus.UNAUTHORIZED: ("unauthenticated", "Unauthorized"),
    HTTPStatus.FORBIDDEN: ("forbidden", "Forbidden"),
    HTTPStatus.NOT_FOUND: ("not-found", "Not Found"),
    HTTPStatus.METHOD_NOT_ALLOWED: ("method-not-allowed", "Method Not Allowed"),
    HTTPStatus.CONFLICT: ("wrong-state", "Conflict"),
    HTTPStatus.GONE: ("gone", "Gone"),
    HTTPStatus.PRECONDITION_FAILED: ("precondition-failed", "Precondition Failed"),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ("too-large", "Content Too Large"),
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: ("unsupported-media-type", "Unsupported Media Type"),
    HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE: ("range-not-satisfiable", "Range Not Satisfiable"),
    HTTPStatus.UNPROCESSABLE_ENTITY: ("request", "Unprocessable Content"),
    HTTPStatus.SERVICE_UNAVAILABLE: ("unavailable", "Service Unavailable"),
}
"""Slug and title, as of RFC 9110: Python's own phrases differ from version to version."""

_OTHERWISE = ("http", "Error")


class ProblemResponse(Response):
    media_type = MEDIA_TYPE

    def __init__(self, document: Problem, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(_json(document), status_code=document.status, headers=headers)


class ProblemMiddleware:
    """Rewrites plain-text error answers as problem documents, with their status and headers kept."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started: Message | None = None

        async def send_problem(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start" and _is_plain_error(message):
                started = message
            elif started is None:
                await send(message)
            elif not message.get("more_body", False):
                text = message.get("body", b"").decode()
                body = _json(status_problem(HTTPStatus(started["status"]), text))
                headers = MutableHeaders(raw=list(started["headers"]))
                headers["content-type"] = MEDIA_TYPE
                headers["content-length"] = str(len(body))
                await send({**started, "headers": headers.raw})
                await send({"type": "http.response.body", "body": body})  # which servers leave out of answers to HEAD

        await self._app(scope, receive, send_problem if scope["type"] == "http" else send)


def install_problem_handlers(application: FastAPI, settings: Settings) -> None:
    """Registers the handlers of every kind of exception that may reach the edge."""

    @application.exception_handler(NinforgeError)
    def engine_error(_: Request, error: NinforgeError) -> Response:
        return ProblemResponse(public_problem(error, settings))

    @application.exception_handler(TooManyJobsError)
    def too_many_jobs(_: Request, error: TooManyJobsError) -> Response:
        return ProblemResponse(public_problem(error, settings), _COME_BACK)

    @application.exception_handler(OperationalError)
    def unusable_database(_: Request, error: OperationalError) -> Response:
        logger.error("the database cannot be used: %s", error.__cause__ or error)
        detail = "The database cannot be used now, for its disk is full or it does not answer. Try again later."
        unavailable = HTTPStatus.SERVICE_UNAVAILABLE
        return ProblemResponse(problem("database", unavailable, "Database not usable", detail), _COME_BACK)

    @application.exception_handler(RequestValidationError)
    def invalid_request(_: Request, error: RequestValidationError) -> Response:
        return ProblemResponse(_request_problem(error))

    @application.exception_handler(HTTPException)
    def http_error(request: Request, error: HTTPException) -> Response:
        status = HTTPStatus(error.status_code)
        is_bare = error.detail == status.phrase
        detail = f"{request.method} {request.url.path}: {status_title(status).lower()}" if is_bare else error.detail
        headers = {"Allow": _allowed(request)} if status is HTTPStatus.METHOD_NOT_ALLOWED else error.headers
        return ProblemResponse(status_problem(status, detail), headers)


def _is_plain_error(start: Message) -> bool:
    headers = MutableHeaders(raw=list(start["headers"]))
    return start["status"] >= 400 and headers.get("content-type", "").startswith("text/plain")


def _allowed(request: Request) -> str:
    """The methods of a path. A router that refuses one names those of the first route alone."""
    place = {name: request.scope[name] for name in ("type", "path", "root_path", "query_string", "headers", "app")}
    return ", ".join(
        method
        for method in _METHODS
        if any(route.matches({**place, "method": method})[0] is Match.FULL for route in request.app.routes)
    )


def status_problem(status: HTTPStatus, detail: str) -> Problem:
    """The problem that stands for a status by itself."""
    slug, title = _KINDS.get(status, _OTHERWISE)
    return problem(slug, status, title, detail or title)


def status_title(status: HTTPStatus) -> str:
    """The title of the problem that stands for a status by itself."""
    return _KINDS.get(status, _OTHERWISE)[1]


def _request_problem(error: RequestValidationError) -> Problem:
    faults = [ProblemFault(at=_pointer(fault, error.body), message=_message(fault)) for fault in error.errors()]
    summary = status_problem(HTTPStatus.UNPROCESSABLE_ENTITY, "The request is not as the interface describes it.")
    return summary.model_copy(update={"errors": tuple(faults)})


def _message(fault: Mapping[str, Any]) -> str:
    reason = fault.get("ctx", {}).get("error")
    return f"{fault['msg']}: {reason}" if isinstance(reason, str) else str(fault["msg"])


def _pointer(fault: Mapping[str, Any], body: object) -> str:
    """Where in the body a fault is, as a JSON pointer; that of a query parameter is its name.

    Of the location only what leads into the body counts: for a member that may be of several types, pydantic adds
    which of them it tried.
    """
    place, *tokens = fault["loc"]
    inside: list[str | int] = []
    for token in tokens:
        if isinstance(body, Mapping) and (token in body or fault["type"] == "missing"):
            body = body.get(token)
        elif isinstance(body, list) and isinstance(token, int):
            body = body[token]
        elif place == "body":
            break
        inside.append(token)
    return "".join(f"/{escape(token)}" for token in inside)


def _json(document: Problem) -> bytes:
    return json.dumps(document.model_dump(mode="json", exclude_none=True)).encode()
