"""Jobs: submitting, listing, their objects, artifact and report."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, HTTPException, Path, Query, Request, Response
from sqlalchemy.orm import Session

from schemas.interface import (
    PRINTABLE,
    ArtifactManifest,
    Job,
    JobReport,
    JobRequest,
    ObjectDocument,
    Page,
    UpgradeJobReport,
)
from schemas.report import ObjectReport
from schemas.states import JobState, ObjectState
from schemas.tables import JobRow, ObjectRow
from service import job_documents
from service.artifact_response import FILE_RESPONSES, artifact_response
from service.dependencies import CurrentService, JobId, Limit, Service, TokenName, existing_job, unknown_job
from service.description import problems
from service.new_jobs import NewJob
from service.strict_json import StrictJsonRoute
from service.submissions import require_device, submission_of
from service.submitting_once import OptionalKey, submit_once
from workers import claims, job_endings, job_limits, job_records
from workers.job_document import artifact_of, job_document
from workers.submission import locate, with_origins

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=StrictJsonRoute)


@router.post(
    "",
    status_code=HTTPStatus.ACCEPTED,
    responses=problems(HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS),
)
async def submit(
    body: JobRequest, service: CurrentService, token: TokenName, key: OptionalKey, response: Response
) -> Job:
    """Queues a conversion. A recipe with faults, an unbound source and a place that is not allowed are told at once;
    what planning finds out is the job's error later."""
    document = await submit_once(service, key, body, partial(_new_job, body, service, token))
    response.headers["Location"] = f"{router.prefix}/{document.id}"
    return document


def _new_job(body: JobRequest, service: Service, token: str) -> NewJob:
    require_device(body, service.settings)
    submission = submission_of(body, service.database)
    recipe = submission.expand()
    submission = with_origins(submission, recipe, service.settings)
    locate(submission, recipe, service.settings)
    make = partial(job_records.conversion_job, submission, recipe, name=body.name or recipe.id, queued_by=token)
    return NewJob(make, token, submission.document)


@router.get("")
def list_jobs(
    service: CurrentService,
    state: JobState | None = None,
    text: Annotated[str | None, Query(min_length=1, max_length=200, pattern=PRINTABLE)] = None,
    limit: Limit = 50,
    cursor: UUID | None = None,
) -> Page[Job]:
    """Jobs, newest first; `text` stands somewhere in the name or the recipe's id, in upper or lower case."""
    with service.database.reading() as session:
        return job_documents.job_page(session, state=state, text=text, limit=limit, cursor=cursor)


@router.get("/{job_id}")
async def show_job(job_id: JobId, service: CurrentService) -> Job:
    """One job."""
    job = await service.job(job_id)
    if job is None:
        raise unknown_job(job_id)
    return job


@router.post("/{job_id}/cancel", responses=problems(HTTPStatus.CONFLICT))
def cancel(job_id: JobId, service: CurrentService) -> Job:
    """Ends a job that is not finished: its workers stop within a moment, and its work files are removed."""
    with service.database.writing() as session:
        job = _locked(session, job_id)
        leftovers = job_endings.cancel(session, job)
        document = job_document(session, job)
    job_endings.discard(service.database, service.storage, leftovers)
    return document


@router.post(
    "/{job_id}/retry",
    status_code=HTTPStatus.ACCEPTED,
    responses=problems(HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS),
)
def retry(job_id: JobId, service: CurrentService, token: TokenName) -> Job:
    """Queues a job that failed or was cancelled once more, from the start; how it ended is kept in `attempts`."""
    with service.database.writing() as session:
        job = _locked(session, job_id)
        job_endings.retry(session, job)
        job_limits.admit(session, [job], token, service.settings.max_active_jobs_per_token)
        document = job_document(session, job)
    service.messages.wake(document)
    return document


@router.delete("/{job_id}", status_code=HTTPStatus.NO_CONTENT, responses=problems(HTTPStatus.CONFLICT))
def delete(job_id: JobId, service: CurrentService) -> None:
    """Removes a job that is finished and not pinned, and those files of its artifact that no other job has."""
    with service.database.writing() as session:
        leftovers = job_endings.remove(session, _locked(session, job_id))
    job_endings.discard(service.database, service.storage, leftovers)


@router.put("/{job_id}/pin")
def pin(job_id: JobId, service: CurrentService) -> Job:
    """Keeps a job and its artifact: they are not removed until it is unpinned, by nobody and however old they get."""
    return _with_pin(job_id, service, pinned=True)


@router.delete("/{job_id}/pin")
def unpin(job_id: JobId, service: CurrentService) -> Job:
    """Lets a job and its artifact be removed again."""
    return _with_pin(job_id, service, pinned=False)


def _with_pin(job_id: UUID, service: Service, *, pinned: bool) -> Job:
    with service.database.writing() as session:
        job = _locked(session, job_id)
        job.pinned = pinned
        return job_document(session, job)


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
        existing_job(session, job_id)
        return job_documents.object_page(session, job_id, state=state, limit=limit, cursor=cursor)


@router.get("/{job_id}/objects/{index}")
def show_object(
    job_id: JobId,
    index: Annotated[int, Path(ge=0, le=2**31 - 1, description="Which object, counted from 0 in payload order.")],
    service: CurrentService,
) -> ObjectDocument:
    """One object of a job, with the histograms of its words."""
    with service.database.reading() as session:
        existing_job(session, job_id)
        row = session.get(ObjectRow, (job_id, index))
        if row is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, f"Job {job_id} has no object {index}.")
        return job_documents.object_document(session, row)


@router.get("/{job_id}/report", responses=problems(HTTPStatus.CONFLICT))
def show_report(job_id: JobId, service: CurrentService) -> JobReport | UpgradeJobReport:
    """The report of a job that is ready: what was made, of what, how, and what was checked."""
    with service.database.reading() as session:
        return job_documents.job_report(session, _ready(session, job_id))


@router.get("/{job_id}/artifact", response_class=Response, responses=FILE_RESPONSES)
@router.head("/{job_id}/artifact", response_class=Response, responses=FILE_RESPONSES)
def download_artifact(job_id: JobId, service: CurrentService, request: Request) -> Response:
    """The verified file of a job that is ready, whole or in ranges; of several files, the entry."""
    return _file_response(job_id, "0", service, request)


@router.get("/{job_id}/artifact/manifest", responses=problems(HTTPStatus.CONFLICT))
def show_manifest(job_id: JobId, service: CurrentService) -> ArtifactManifest:
    """All files of the artifact of a job that is ready, with sizes, SHA-256 and where each is downloaded."""
    with service.database.reading() as session:
        return job_documents.artifact_manifest(
            _ready(session, job_id),
            lambda index: router.url_path_for("download_part", job_id=str(job_id), index=str(index)),
        )


@router.get("/{job_id}/artifact/parts/{index}", response_class=Response, responses=FILE_RESPONSES)
@router.head("/{job_id}/artifact/parts/{index}", response_class=Response, responses=FILE_RESPONSES)
def download_part(
    job_id: JobId,
    index: Annotated[str, Path(description="Which file, counted from 0, the entry.")],
    service: CurrentService,
    request: Request,
) -> Response:
    """One verified file of the artifact of a job that is ready, whole or in ranges."""
    return _file_response(job_id, index, service, request)


def _file_response(job_id: UUID, index: str, service: Service, request: Request) -> Response:
    with service.database.reading() as session:
        artifact = artifact_of(_ready(session, job_id))
    part = {str(number): part for number, part in enumerate(artifact.parts)}.get(index)
    if part is None:
        found = f"The artifact of job {job_id} has no part {index}, its last one is {len(artifact.parts) - 1}."
        raise HTTPException(HTTPStatus.NOT_FOUND, found)
    try:
        return artifact_response(request, service.storage.artifact(part.sha256), sha256=part.sha256, name=part.name)
    except FileNotFoundError:
        gone = f"{part.name} of job {job_id} has been removed from the store."
        raise HTTPException(HTTPStatus.GONE, gone) from None


def _locked(session: Session, job_id: UUID) -> JobRow:
    job = claims.locked_job(session, job_id)
    if job is None:
        raise unknown_job(job_id)
    return job


def _ready(session: Session, job_id: UUID) -> JobRow:
    job = existing_job(session, job_id)
    if job.state is not JobState.READY:
        raise HTTPException(HTTPStatus.CONFLICT, f"Job {job_id} is {job.state}; only of a ready one is there this.")
    return job
