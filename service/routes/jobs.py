"""Jobs: submitting, listing, their objects, artifact and report."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, HTTPException, Query, Request, Response
from sqlalchemy.orm import Session

from schemas.interface import Job, JobReport, JobRequest, Page
from schemas.report import ObjectReport
from schemas.states import JobState, ObjectState
from schemas.tables import JobRow
from service import job_documents
from service.artifact_response import artifact_response
from service.dependencies import CurrentService, JobId, Limit, unknown_job
from service.strict_json import StrictJsonRoute
from service.submissions import submission_of
from workers import job_records
from workers.application import wake
from workers.submission import locate

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=StrictJsonRoute)


@router.post("", status_code=HTTPStatus.ACCEPTED)
def submit(body: JobRequest, service: CurrentService, response: Response) -> Job:
    """Queues a conversion. A recipe with faults, an unbound source and a place that is not allowed are told at once;
    what planning finds out is the job's error later."""
    submission = submission_of(body)
    recipe = submission.expand()
    locate(submission, recipe, service.settings)
    with service.database.writing() as session:
        job = job_records.submit(session, submission, recipe, name=body.name or recipe.id)
        document = job_documents.job_document(session, job)
    wake(service.queue, document.id)
    response.headers["Location"] = f"{router.prefix}/{document.id}"
    return document


@router.get("")
def list_jobs(
    service: CurrentService, state: JobState | None = None, limit: Limit = 50, cursor: UUID | None = None
) -> Page[Job]:
    """Jobs, newest first."""
    with service.database.reading() as session:
        return job_documents.job_page(session, state=state, limit=limit, cursor=cursor)


@router.get("/{job_id}")
def show_job(job_id: JobId, service: CurrentService) -> Job:
    """One job."""
    with service.database.reading() as session:
        return job_documents.job_document(session, _existing(session, job_id))


@router.get("/{job_id}/objects")
def list_objects(
    job_id: JobId,
    service: CurrentService,
    state: ObjectState | None = None,
    limit: Limit = 100,
    cursor: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
) -> Page[ObjectReport]:
    """The objects of a job in payload order: none before it is planned."""
    with service.database.reading() as session:
        _existing(session, job_id)
        return job_documents.object_page(session, job_id, state=state, limit=limit, cursor=cursor)


@router.get("/{job_id}/report")
def show_report(job_id: JobId, service: CurrentService) -> JobReport:
    """The report of a job that is ready: what was made, of what, how, and what was checked."""
    with service.database.reading() as session:
        return job_documents.job_report(session, _ready(session, job_id))


@router.get("/{job_id}/artifact", response_class=Response)
@router.head("/{job_id}/artifact", response_class=Response)
def download_artifact(job_id: JobId, service: CurrentService, request: Request) -> Response:
    """The verified file of a job that is ready, whole or in ranges."""
    with service.database.reading() as session:
        artifact = job_documents.artifact_of(_ready(session, job_id))
    file = service.storage.artifact(artifact.sha256)
    if not file.is_file():
        raise HTTPException(HTTPStatus.GONE, f"The artifact of job {job_id} has been removed from the store.")
    return artifact_response(request, file, sha256=artifact.sha256, name=artifact.parts[0].name)


def _existing(session: Session, job_id: UUID) -> JobRow:
    job = session.get(JobRow, job_id)
    if job is None:
        raise unknown_job(job_id)
    return job


def _ready(session: Session, job_id: UUID) -> JobRow:
    job = _existing(session, job_id)
    if job.state is not JobState.READY:
        raise HTTPException(HTTPStatus.CONFLICT, f"Job {job_id} is {job.state}; only of a ready one is there this.")
    return job
