"""Pages go compressed over the wire. Artifacts do not: their digests and ranges are of the bytes themselves."""

from __future__ import annotations

from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send


class PageCompressionMiddleware:
    """Compresses everything outside of the interface below /v1."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._compressing = GZipMiddleware(app, minimum_size=1000, compresslevel=5)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_interface = scope["type"] != "http" or scope["path"].startswith("/v1/")
        await (self._app if is_interface else self._compressing)(scope, receive, send)
