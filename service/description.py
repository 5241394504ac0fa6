"""The interface as OpenAPI describes it: what routes declare, and the problems that are answered in front of them."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI

from schemas.problems import MEDIA_TYPE
from service.authentication import SAFE_METHODS
from service.examples import add_examples

_MEANINGS: Mapping[HTTPStatus, str] = {
    HTTPStatus.BAD_REQUEST: "A Host that is not allowed, or no HTTP",
    HTTPStatus.UNAUTHORIZED: "No valid token",
    HTTPStatus.FORBIDDEN: "A token that is for reading only, or a page of another origin",
    HTTPStatus.NOT_FOUND: "Nothing is there",
    HTTPStatus.CONFLICT: "What is there does not allow it now",
    HTTPStatus.GONE: "The file has been removed from the store",
    HTTPStatus.PRECONDITION_FAILED: "The file is another one",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body is too large",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "The body is of another kind",
    HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE: "The file has no such range",
    HTTPStatus.UNPROCESSABLE_ENTITY: "What was sent cannot be processed; `errors` says why",
    HTTPStatus.TOO_MANY_REQUESTS: "The token has too many jobs that are not finished",
    HTTPStatus.INTERNAL_SERVER_ERROR: "A fault of the service",
    HTTPStatus.BAD_GATEWAY: "A remote source does not answer as it should",
    HTTPStatus.SERVICE_UNAVAILABLE: "The database cannot be used now, or as many streams of events are open as may be",
}
_EVERYWHERE = (HTTPStatus.BAD_REQUEST, HTTPStatus.INTERNAL_SERVER_ERROR)
_FRAMEWORKS = ("HTTPValidationError", "ValidationError")
"""How FastAPI describes faults of requests, which are told as problems here."""


def problems(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """What a route's description says of problems that it answers with."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status.value: {"description": _MEANINGS[status], "content": content} for status in statuses}


class DescribedApplication(FastAPI):
    """An application whose description has the problems that are not the routes' own as well."""

    def openapi(self) -> dict[str, Any]:
        """The description, made once."""
        if self.openapi_schema is None:
            described = super().openapi()
            for path, operations in described["paths"].items():
                for method, operation in operations.items():
                    _complete(operation, path, method.upper())
            for name in _FRAMEWORKS:
                described["components"]["schemas"].pop(name, None)
            add_examples(described)
        return self.openapi_schema or described


def _complete(operation: dict[str, Any], path: str, method: str) -> None:
    responses: dict[str, Any] = operation["responses"]
    statuses = [*_EVERYWHERE]
    if path != "/healthz":
        statuses.append(HTTPStatus.SERVICE_UNAVAILABLE)
    if "{" in path:
        statuses.append(HTTPStatus.NOT_FOUND)
    if "security" in operation:
        statuses.append(HTTPStatus.UNAUTHORIZED)
    if method not in SAFE_METHODS:
        statuses.append(HTTPStatus.FORBIDDEN)
    if "requestBody" in operation:
        statuses += [HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY]
    if str(HTTPStatus.UNPROCESSABLE_ENTITY.value) in responses:
        statuses.append(HTTPStatus.UNPROCESSABLE_ENTITY)
    own = {status: responses[status] for status in responses if status != str(HTTPStatus.UNPROCESSABLE_ENTITY.value)}
    told = {str(status): response for status, response in problems(*statuses).items()}
    operation["responses"] = dict(sorted({**told, **own}.items()))
