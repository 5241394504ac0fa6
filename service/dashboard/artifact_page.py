"""The page of a job's artifact: why it may be trusted, what opens it, and how to get it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from schemas.interface import Job
from schemas.report import ReportHead
from schemas.states import JobState
from schemas.tables import JobRow, ObjectRow
from schemas.upgrade_report import UpgradeReportHead
from service import job_documents
from service.dashboard.job_page import existing_job
from service.dashboard.page import render
from service.dependencies import CurrentService, JobId
from workers.job_document import job_document

router = APIRouter(include_in_schema=False, prefix="/jobs")


@dataclass(frozen=True, slots=True)
class FormatTotal:
    """Objects and payload bytes of one format, or of one encoding of resources."""

    name: str
    objects: int
    bytes: int


@router.get("/{job_id}/artifact")
def show(job_id: JobId, request: Request, service: CurrentService) -> Response:
    """What was made, or that nothing is there yet."""
    with service.database.reading() as session:
        row = existing_job(session, job_id)
        job = job_document(session, row)
        if row.state is not JobState.READY:
            return render(request, "artifact.html", job=job, manifest=None)
        manifest = job_documents.artifact_manifest(row, lambda index: f"/v1/jobs/{job_id}/artifact/parts/{index}")
        totals = _totals(session, job_id)
        head = _head(row)
    return render(
        request,
        "artifact.html",
        job=job,
        manifest=manifest,
        head=head,
        totals=totals,
        objects=sum(total.objects for total in totals),
        sources=_source_options(job, row),
        origin=str(request.base_url).rstrip("/"),
    )


def _head(row: JobRow) -> ReportHead | UpgradeReportHead:
    kind: type[ReportHead] | type[UpgradeReportHead] = ReportHead if row.upgrade is None else UpgradeReportHead
    return kind.model_validate(row.report_head)


def _totals(session: Session, job_id: UUID) -> Sequence[FormatTotal]:
    name = func.coalesce(ObjectRow.format, ObjectRow.layout)
    query = (
        select(name, func.count(), func.sum(ObjectRow.bytes))
        .where(ObjectRow.job_id == job_id)
        .group_by(name)
        .order_by(func.sum(ObjectRow.bytes).desc())
    )
    return [FormatTotal(name, objects, int(size)) for name, objects, size in session.execute(query)]


def _source_options(job: Job, row: JobRow) -> str:
    """Options of `ninforge verify --recipe` for a registered recipe, with places for whoever runs it to fill in."""
    if job.recipe is None:
        return ""
    return " ".join(f"--source {name}={name.upper()}" for name in row.sources)
