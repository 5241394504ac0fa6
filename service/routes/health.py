"""Whether the process answers, and whether it can do its work."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter
from fastapi.responses import Response

from schemas.interface import Health
from schemas.problems import Problem, ProblemFault, problem
from schemas.readiness import Readiness
from service.dependencies import CurrentService
from service.problems import ProblemResponse
from service.readiness import CHECKS, WARNING_CHECKS, failed_checks

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> Health:
    """200 as long as the process serves requests."""
    return Health(status="ok")


@router.get(
    "/readyz",
    response_model=Readiness,
    responses={HTTPStatus.SERVICE_UNAVAILABLE: {"model": Problem, "description": "One check or more fails"}},
)
async def readyz(service: CurrentService) -> Readiness | Response:
    """200 if database, queue, disk and source roots can be used, else 503 with every check that fails. That no worker
    is alive is a warning beside 200: jobs can be submitted, and wait."""
    failed = await failed_checks(service)
    warnings = tuple(failed.pop(name) for name in WARNING_CHECKS if name in failed)
    if not failed:
        return Readiness(status="ready", checks=tuple(CHECKS), warnings=warnings)
    passed = ", ".join(name for name in CHECKS if name not in failed) or "none"
    detail = f"Checks that fail: {', '.join(failed)}; that pass: {passed}."
    document = problem("not-ready", HTTPStatus.SERVICE_UNAVAILABLE, "Not ready", detail)
    faults = tuple(ProblemFault(at=f"/{name}", message=reason) for name, reason in failed.items())
    return ProblemResponse(document.model_copy(update={"errors": faults}))
