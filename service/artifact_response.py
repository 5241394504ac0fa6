"""Download of a published artifact: ranges, ETag and digests (interface.md)."""

from __future__ import annotations

from base64 import b64encode
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import FileResponse, Response
from starlette.datastructures import MutableHeaders
from starlette.types import Receive, Scope, Send


class _RangedFileResponse(FileResponse):
    """A file of which GET may ask for byte ranges; other methods and units get it whole (RFC 9110, 14.2)."""

    chunk_size = 1 << 20

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = MutableHeaders(raw=list(scope["headers"]))
        if scope["method"] != "GET" or not headers.get("range", "").strip().lower().startswith("bytes="):
            del headers["range"]
        await super().__call__({**scope, "headers": headers.raw}, receive, send)


_OCTETS = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}

FILE_RESPONSES: dict[int | str, dict[str, Any]] = {
    HTTPStatus.OK: {"description": "The whole file; `Repr-Digest` and `ETag` have its SHA-256", "content": _OCTETS},
    HTTPStatus.PARTIAL_CONTENT: {"description": "The range that was asked for", "content": _OCTETS},
    HTTPStatus.NOT_MODIFIED: {"description": "The caller has the file already"},
}
"""What the interface's description says of routes that give a file."""


def artifact_response(request: Request, file: Path, *, sha256: str, name: str) -> Response:
    """One file of an artifact under the download name `name`, or 304 where the caller has it already."""
    headers = {
        "ETag": f'"{sha256}"',
        "Repr-Digest": f"sha-256=:{b64encode(bytes.fromhex(sha256)).decode()}:",
    }
    if _matches(request.headers.get("if-none-match", ""), headers["ETag"]):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return _RangedFileResponse(file, media_type="application/octet-stream", filename=name, headers=headers)


def _matches(if_none_match: str, etag: str) -> bool:
    tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return etag in tags or tags == ["*"]
