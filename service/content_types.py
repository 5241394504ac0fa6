"""What a body says that it is, for routes that take more than one kind."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from fastapi import HTTPException, Request

JSON = "application/json"
YAML = "application/yaml"
OCTETS = "application/octet-stream"


def content_type(request: Request, known: Sequence[str]) -> str:
    """The request's content type. Answers one that is not known with 415."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in known:
        detail = f"The body is sent as {' or '.join(known)}, found {kind[:100] or 'no Content-Type'}."
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail)
    return kind
