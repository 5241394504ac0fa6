"""The page of a job: how far it is, what it is made of, and what can be done with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from markupsafe import Markup

from schemas.interface import PRINTABLE
from schemas.states import ACTIVE_STATES, JobState, ObjectState
from service.dashboard.job_objects import object_lines
from service.dashboard.object_map import Cell, object_map
from service.dashboard.page import part, render
from service.dashboard.throughput import Interval, intervals, throughput_chart
from service.dependencies import CurrentService, JobId, TokenName, existing_job
from service.routes import jobs
from workers.job_document import job_document

router = APIRouter(include_in_schema=False, prefix="/jobs")

_PHASES: Mapping[str, str] = {
    JobState.QUEUED: "waiting for a worker",
    JobState.PLANNING: "planning: headers, config members, resources",
    JobState.CONVERTING: "encoding the objects (first half)",
    JobState.VERIFYING: "verifying every word (second half)",
    JobState.READY: "done, verified and published",
    JobState.FAILED: "failed",
    JobState.CANCELLED: "cancelled",
}


@router.get("/{job_id}")
def show(
    job_id: JobId,
    request: Request,
    service: CurrentService,
    text: Annotated[str, Query(max_length=200, pattern=PRINTABLE)] = "",
    start: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> Response:
    """A job and its objects: all of them, or of very many a part."""
    with service.database.reading() as session:
        row = existing_job(session, job_id)
        page = object_lines(session, job_id, text=text, start=start)
        found = intervals(session, job_id)
        job, file_bytes = job_document(session, row), row.file_bytes
    following = urlencode({"text": text, "start": page.next})
    return render(
        request,
        "job.html",
        job=job,
        file_bytes=file_bytes,
        phases=_PHASES,
        page=page,
        text=text,
        next_page=None if page.next is None else f"/jobs/{job_id}?{following}#objects-heading",
        map=object_map([Cell(line.index, line.name, line.state) for line in page.rows]),
        object_states=list(ObjectState),
        throughput=_throughput(found) if found or job.state in ACTIVE_STATES else "",
    )


@router.get("/{job_id}/throughput")
def show_throughput(job_id: JobId, service: CurrentService) -> Response:
    """That part of the job's page alone, for pages that are open."""
    with service.database.reading() as session:
        existing_job(session, job_id)
        found = intervals(session, job_id)
    return HTMLResponse(_throughput(found), headers={"Cache-Control": "no-store"})


@router.post("/{job_id}/cancel")
def cancel(job_id: JobId, service: CurrentService) -> Response:
    """Cancels the job, and goes back to it."""
    jobs.cancel(job_id, service)
    return _back(job_id)


@router.post("/{job_id}/retry")
def retry(job_id: JobId, service: CurrentService, token: TokenName) -> Response:
    """Tries the job again, and goes back to it."""
    jobs.retry(job_id, service, token)
    return _back(job_id)


@router.post("/{job_id}/pin")
def pin(job_id: JobId, service: CurrentService) -> Response:
    """Keeps the job until it is unpinned, and goes back to it."""
    jobs.pin(job_id, service)
    return _back(job_id)


@router.post("/{job_id}/unpin")
def unpin(job_id: JobId, service: CurrentService) -> Response:
    """Lets the job be removed, and goes back to it."""
    jobs.unpin(job_id, service)
    return _back(job_id)


@router.get("/{job_id}/delete")
def ask_before_deleting(job_id: JobId, request: Request, service: CurrentService) -> Response:
    """Asks whether the job is to go."""
    with service.database.reading() as session:
        job = job_document(session, existing_job(session, job_id))
    return render(request, "delete.html", job=job)


@router.post("/{job_id}/delete")
def delete(job_id: JobId, service: CurrentService) -> Response:
    """Removes the job, and goes to the list of the others."""
    jobs.delete(job_id, service)
    return RedirectResponse("/jobs", HTTPStatus.SEE_OTHER)


def _back(job_id: UUID) -> Response:
    return RedirectResponse(f"/jobs/{job_id}", HTTPStatus.SEE_OTHER)


def _throughput(found: Sequence[Interval]) -> Markup:
    return part("throughput.html", intervals=found, chart=throughput_chart(found) if found else None)
