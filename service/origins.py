"""Keeps pages of other sites from having a browser change something here (design.md, Safety)."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from service.authentication import SAFE_METHODS
from service.problems import ProblemResponse, status_problem
from service.sessions import COOKIE


class OriginMiddleware:
    """Refuses what changes something and comes from a page of another origin.

    Browsers say so in `Origin`, or at least in `Sec-Fetch-Site`; other clients send neither. A session is a browser's,
    so it has to come with an `Origin`. The port counts; http and https are not told apart, since TLS may end before us.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in SAFE_METHODS and not _is_own(HTTPConnection(scope)):
            detail = "Pages of another origin may not change anything here."
            response = ProblemResponse(status_problem(HTTPStatus.FORBIDDEN, detail))
            await response(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _is_own(connection: HTTPConnection) -> bool:
    origin = connection.headers.get("origin")
    if origin is not None:
        try:
            place = urlsplit(origin).netloc
        except ValueError:
            return False
        return place.lower() == connection.headers.get("host", "").lower() != ""
    if COOKIE in connection.cookies:
        return False
    return connection.headers.get("sec-fetch-site", "none") in {"same-origin", "none"}
