"""The page of one object of a job: where its words came from, how they were made, and what was checked."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request
from fastapi.responses import Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from schemas.tables import ObjectRow
from service import job_documents
from service.dashboard.object_places import place_of
from service.dashboard.page import render
from service.dependencies import CurrentService, JobId, existing_job
from workers.job_document import job_document

router = APIRouter(include_in_schema=False, prefix="/jobs")

ObjectIndex = Annotated[int, Path(ge=0, le=2**31 - 1)]


@router.get("/{job_id}/objects/{index}")
def show(job_id: JobId, index: ObjectIndex, request: Request, service: CurrentService) -> Response:
    """One object with all that is recorded of it."""
    with service.database.reading() as session:
        job = job_document(session, existing_job(session, job_id))
        row = session.get(ObjectRow, (job_id, index))
        if row is None:
            raise HTTPException(404, f"Job {job_id} has no object {index}.")
        report = job_documents.object_report(session, row)
        encoded_at = row.encoded_at
        former, latter = _neighbours(session, row)
    return render(
        request,
        "object.html",
        job=job,
        object=report,
        place=place_of(report.name),
        encoded_at=encoded_at,
        former=former,
        latter=latter,
    )


def _neighbours(session: Session, row: ObjectRow) -> tuple[str | None, str | None]:
    """The names of the objects before and after one, in payload order."""
    query = select(ObjectRow.index, ObjectRow.name).where(
        ObjectRow.job_id == row.job_id, ObjectRow.index.in_([row.index - 1, row.index + 1])
    )
    names = {index: name for index, name in session.execute(query)}  # noqa: C416 - rows are no pairs to mypy
    return names.get(row.index - 1), names.get(row.index + 1)
