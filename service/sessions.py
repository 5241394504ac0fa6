"""Sessions of browsers that signed in with a token: a signed cookie, and nothing kept in the service.

The cookie is signed by a key that is the token's own digest. So it is good on every process that has the token, and for
no longer than the token is in the settings; whoever could forge it has the token anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from itsdangerous import BadData, TimestampSigner
from starlette.requests import HTTPConnection
from starlette.responses import Response

from workers.tokens import Token

COOKIE = "ninforge_session"
SECONDS = 12 * 3600
"""How long a session lasts."""


def begin_session(response: Response, connection: HTTPConnection, token: Token) -> None:
    """Gives the browser a session. It sends the cookie over TLS only where it signed in over TLS."""
    response.set_cookie(
        COOKIE,
        _signer(token).sign(token.name).decode(),
        max_age=SECONDS,
        secure=connection.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


def end_session(response: Response) -> None:
    """Has the browser forget its session."""
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")


def session_token(connection: HTTPConnection, tokens: Sequence[Token]) -> Token | None:
    """The token that the browser signed in with, as long as the session lasts and the token is one of these."""
    cookie = connection.cookies.get(COOKIE, "")
    token = next((token for token in tokens if token.name == cookie.partition(".")[0]), None)
    if token is None:
        return None
    try:
        _signer(token).unsign(cookie, max_age=SECONDS)
    except BadData:
        return None
    return token


def _signer(token: Token) -> TimestampSigner:
    return TimestampSigner(token.sha256, salt="ninforge session", digest_method=sha256)
