"""Who a request is from, and whether that one may make it. Everything asks for a token unless it is listed here."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from secrets import compare_digest

from fastapi import Security
from fastapi.security import APIKeyCookie, HTTPBearer
from fastapi.security.utils import get_authorization_scheme_param
from starlette.authentication import AuthCredentials, AuthenticationBackend, AuthenticationError, SimpleUser
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response

from service.problems import ProblemResponse, status_problem
from service.sessions import COOKIE, session_token
from workers.tokens import Scope, Token, secret_digest

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing (RFC 9110, 9.2.1): all that a token for reading allows."""

SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"
_OPEN = frozenset({"/healthz", "/readyz", SIGN_IN, SIGN_OUT})
"""Paths that answer without a token, as does what the sign-in page is drawn with."""


DESCRIBED_SCHEMES = (
    Security(HTTPBearer(scheme_name="token", auto_error=False)),
    Security(APIKeyCookie(scheme_name="session", name=COOKIE, auto_error=False)),
)
"""For the routes' description in OpenAPI. What they ask for is seen to before any route and any body is looked at."""


class _RefusedError(AuthenticationError):
    """A request that is not let through. `challenge` goes out as WWW-Authenticate (RFC 6750)."""

    def __init__(self, status: HTTPStatus, detail: str, challenge: str) -> None:
        super().__init__(detail)
        self.status = status
        self.challenge = f'Bearer realm="ninforge"{challenge}'


class TokenBackend(AuthenticationBackend):
    """Asks every request for one of these tokens; none where there are no tokens."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, SimpleUser] | None:
        """The token's scopes and name. Raises AuthenticationError, as `refuse` expects it."""
        if not self._tokens or _is_open(conn.scope["path"]):
            return None
        token = self._token_of(conn)
        if token.scope is Scope.READ and conn.scope["method"] not in SAFE_METHODS:
            detail = f"The token {token.name} is for reading; this takes one with the scope {Scope.SUBMIT}."
            challenge = f', error="insufficient_scope", scope="{Scope.SUBMIT}"'
            raise _RefusedError(HTTPStatus.FORBIDDEN, detail, challenge)
        scopes = [Scope.READ] if token.scope is Scope.READ else list(Scope)
        return AuthCredentials(scopes), SimpleUser(token.name)

    def _token_of(self, conn: HTTPConnection) -> Token:
        authorization = conn.headers.get("authorization")
        if authorization is None:
            token = session_token(conn, self._tokens)
            if token is None:
                detail = "This takes a token, as in Authorization: Bearer TOKEN."
                raise _RefusedError(HTTPStatus.UNAUTHORIZED, detail, "")
            return token
        scheme, secret = get_authorization_scheme_param(authorization)
        token = token_with(secret, self._tokens) if scheme.lower() == "bearer" else None
        if token is None:
            raise _RefusedError(
                HTTPStatus.UNAUTHORIZED, "The token is not one of the service's.", ', error="invalid_token"'
            )
        return token


def _is_open(path: str) -> bool:
    return path in _OPEN or path.startswith("/static/")


def token_with(secret: str, tokens: Sequence[Token]) -> Token | None:
    """The token with that secret. Takes the same time whichever it is, and if it is none."""
    digest = secret_digest(secret)
    matching = [token for token in tokens if compare_digest(token.sha256, digest)]
    return matching[0] if matching else None


def refuse(conn: HTTPConnection, error: AuthenticationError) -> Response:
    """The answer to a request that is not let through: for a page, where to sign in, else a problem document."""
    if not isinstance(error, _RefusedError):
        raise error
    wants_page = conn.scope["method"] in SAFE_METHODS and "text/html" in conn.headers.get("accept", "")
    if error.status is HTTPStatus.UNAUTHORIZED and wants_page:
        return RedirectResponse(SIGN_IN, HTTPStatus.SEE_OTHER)
    document = status_problem(error.status, str(error))
    return ProblemResponse(document, {"WWW-Authenticate": error.challenge})
