"""Download of a published artifact: ranges, ETag and digests (interface.md)."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import HTTPException, Request
from fastapi.responses import FileResponse, Response
from starlette.datastructures import MutableHeaders
from starlette.types import Receive, Scope, Send

from service.description import problems

_FROM = re.compile(r"([0-9]{1,1000})-([0-9]{0,1000})")
_NOTHING = re.compile(r"-0+")


class _RangedFileResponse(FileResponse):
    """A file of which GET may ask for byte ranges; other methods and units get it whole (RFC 9110, 14.2)."""

    chunk_size = 1 << 20

    def __init__(self, file: Path, status: os.stat_result, *, name: str, headers: Mapping[str, str]) -> None:
        kind = "application/octet-stream"
        super().__init__(file, media_type=kind, filename=name, headers=headers, stat_result=status)
        self._bytes = status.st_size

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = MutableHeaders(raw=list(scope["headers"]))
        if scope["method"] != "GET" or not headers.get("range", "").strip().lower().startswith("bytes="):
            del headers["range"]
        else:
            headers["range"] = _satisfiable(headers["range"], self._bytes)
        await super().__call__({**scope, "headers": headers.raw}, receive, send)


_OCTETS = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}

FILE_RESPONSES: dict[int | str, dict[str, Any]] = {
    HTTPStatus.OK: {"description": "The whole file; `Repr-Digest` and `ETag` have its SHA-256", "content": _OCTETS},
    HTTPStatus.PARTIAL_CONTENT: {
        "description": "The range that was asked for, or several, each under its own head",
        "content": {**_OCTETS, "multipart/byteranges": {"schema": {"type": "string", "format": "binary"}}},
    },
    HTTPStatus.NOT_MODIFIED: {"description": "The caller has the file already"},
    **problems(
        HTTPStatus.CONFLICT,
        HTTPStatus.GONE,
        HTTPStatus.PRECONDITION_FAILED,
        HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
    ),
}
"""What the interface's description says of routes that give a file."""


def artifact_response(request: Request, file: Path, *, sha256: str, name: str) -> Response:
    """One file of an artifact under the download name `name`, or 304 where the caller has it already.

    Raises HTTPException 412 where the caller wants another one only (If-Match), FileNotFoundError.
    """
    status = file.stat()
    headers = {
        "ETag": f'"{sha256}"',
        "Repr-Digest": f"sha-256=:{b64encode(bytes.fromhex(sha256)).decode()}:",
    }
    if_match = request.headers.get("if-match")
    if if_match is not None and not _matches(if_match, headers["ETag"]):
        raise HTTPException(HTTPStatus.PRECONDITION_FAILED, f"{name} is another file, with the ETag {headers['ETag']}.")
    if _matches(request.headers.get("if-none-match", "").replace("W/", ""), headers["ETag"]):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return _RangedFileResponse(file, status, name=name, headers=headers)


def _matches(tags: str, etag: str) -> bool:
    given = [tag.strip() for tag in tags.split(",")]
    return etag in given or given == ["*"]


def _satisfiable(header: str, size: int) -> str:
    """The ranges without those that lie beyond the end, unless all do (RFC 9110, 14.1.2)."""
    unit, _, text = header.partition("=")
    ranges = [one.strip() for one in text.split(",")]
    within = [one for one in ranges if not _is_beyond(one, size)]
    return f"{unit}={','.join(within or ranges)}"


def _is_beyond(asked: str, size: int) -> bool:
    found = _FROM.fullmatch(asked)
    if found is None:
        return _NOTHING.fullmatch(asked) is not None
    first, last = found.groups()
    return int(first) >= size and (not last or int(last) >= int(first))
