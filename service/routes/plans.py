"""Plans: everything about a conversion that is known before a weight is read."""

from __future__ import annotations

from fastapi import APIRouter

from schemas.interface import JobRequest, PlanDocument
from service.dependencies import CurrentService
from service.strict_json import StrictJsonRoute
from service.submissions import submission_of
from workers.submission import plan_submission

router = APIRouter(prefix="/v1/plans", tags=["plans"], route_class=StrictJsonRoute)


@router.post("")
def plan(body: JobRequest, service: CurrentService) -> PlanDocument:
    """Plans what a job with this body would do, from headers alone."""
    return plan_submission(submission_of(body, service.database), service.settings).document()
