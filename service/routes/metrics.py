"""Metrics for Prometheus."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST

from service.dependencies import CurrentService
from service.metrics import metrics_document

router = APIRouter(tags=["health"])


@router.get(
    "/metrics",
    response_class=Response,
    responses={HTTPStatus.OK: {"description": "Prometheus's text format", "content": {"text/plain": {}}}},
)
def show_metrics(service: CurrentService) -> Response:
    """Jobs, objects, rates, queue, claims and disk as they are now."""
    return Response(metrics_document(service), media_type=CONTENT_TYPE_LATEST)
