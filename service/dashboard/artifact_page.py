"""The page of a job's artifact: why it may be trusted, what opens it, and how to get it."""

from __future__ import annotations

import shlex
from http import HTTPStatus
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import JSONResponse, Response

from schemas.states import JobState
from schemas.tables import JobRow
from service import job_documents
from service.dashboard.format_totals import format_totals
from service.dashboard.page import render
from service.dependencies import CurrentService, JobId, existing_job
from workers.job_document import job_document

router = APIRouter(include_in_schema=False, prefix="/jobs")


@router.get("/{job_id}/artifact")
def show(job_id: JobId, request: Request, service: CurrentService) -> Response:
    """What was made, or that nothing is there yet."""
    with service.database.reading() as session:
        row = existing_job(session, job_id)
        job = job_document(session, row)
        if row.state is not JobState.READY:
            return render(request, "artifact.html", job=job, manifest=None)
        manifest = job_documents.artifact_manifest(row, lambda index: f"/v1/jobs/{job_id}/artifact/parts/{index}")
        totals = format_totals(session, job_id)
        head = job_documents.report_head(row)
    return render(
        request,
        "artifact.html",
        job=job,
        manifest=manifest,
        head=head,
        totals=totals,
        objects=sum(total.objects for total in totals),
        options=_recipe_options(row),
        origin=str(request.base_url).rstrip("/"),
    )


@router.get("/{job_id}/recipe.json")
def recipe(job_id: JobId, service: CurrentService) -> Response:
    """The recipe of a job as it was submitted, as a file."""
    with service.database.reading() as session:
        row = existing_job(session, job_id)
        if row.recipe is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, f"Job {job_id} is an upgrade, which takes no recipe.")
        document, name = row.recipe.document, f"{row.recipe_id}.json"
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return JSONResponse(document, headers=headers)


def _recipe_options(row: JobRow) -> str:
    """What `ninforge verify --recipe` takes beside the recipe, with places for whoever runs it to fill in. A recipe's
    names may be any text, so a shell is told to take them as they are."""
    sources = [("--source", f"{name}={name.upper()}") for name in row.sources]
    resources = [("--resource", f"{name}=FILE") for name in row.resources]
    let = [("--let", f"{name}={value}") for name, value in row.let.items()]
    return " ".join(f"{option} {shlex.quote(value)}" for option, value in (*sources, *resources, *let))
