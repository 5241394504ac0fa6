"""Inspections: directory and structure of an artifact, whoever made it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import ValidationError

from schemas.errors import SourceError
from schemas.interface import IdentityInspection, InspectionRequest, ModelInspection
from service.content_types import JSON, OCTETS, content_type
from service.dependencies import CurrentService
from service.description import problems
from service.inspections import inspected_artifact, inspected_beginning, inspection_json
from workers.engine.sources.json_object import parse_object

router = APIRouter(prefix="/v1/inspections", tags=["inspections"])

_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        JSON: {"schema": InspectionRequest.model_json_schema()},
        OCTETS: {"schema": {"type": "string", "format": "binary"}},
    },
}


@router.post(
    "",
    response_model=ModelInspection | IdentityInspection,
    responses=problems(HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
    openapi_extra={"requestBody": _BODY},
)
async def inspect(request: Request, service: CurrentService) -> Response:
    """Inspects an artifact that is named, by a place below the source roots or by a job's id; or one of which the first
    bytes are sent, header and directory at least."""
    kind = content_type(request, (JSON, OCTETS))
    body = await request.body()
    document = await (
        inspected_beginning(body) if kind == OCTETS else inspected_artifact(service, _request(body).artifact)
    )
    return Response(await inspection_json(document), media_type=JSON)


def _request(body: bytes) -> InspectionRequest:
    try:
        members = parse_object(body, "body")
    except SourceError as error:
        fault = {"type": "json_invalid", "loc": ("body",), "msg": f"expected {error.expected}, found {error.found}"}
        raise RequestValidationError([fault]) from None
    try:
        return InspectionRequest.model_validate(members)
    except ValidationError as error:
        faults = [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors()]
        raise RequestValidationError(faults, body=members) from None
