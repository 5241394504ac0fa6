"""The list of jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response
from fastapi.sse import format_sse_event
from sqlalchemy import select
from sqlalchemy.orm import Session

from schemas.interface import PRINTABLE
from schemas.states import JobState
from schemas.tables import JobRow, RecipeRow
from service import event_streams, job_documents
from service.dashboard.page import render
from service.dashboard.page_links import page_links
from service.dependencies import CurrentService
from service.job_list_feed import JobListFeed

router = APIRouter(include_in_schema=False)

_PAGE = 50


@dataclass(frozen=True, slots=True)
class Beside:
    """What the list shows of a job beside what the interface does; the names are None for an upgrade."""

    file_bytes: int | None
    model_id: str | None
    weights_id: str | None


@router.get("/")
def begin() -> Response:
    """Where the dashboard begins."""
    return RedirectResponse("/jobs")


@router.get("/jobs")
def list_jobs(
    request: Request,
    service: CurrentService,
    state: JobState | Annotated[str, Query(max_length=0)] | None = None,
    text: Annotated[str | None, Query(max_length=200, pattern=PRINTABLE)] = None,
    cursor: UUID | None = None,
) -> Response:
    """Jobs, newest first, filtered by state and by what stands in name or recipe."""
    chosen = state if isinstance(state, JobState) else None
    with service.database.reading() as session:
        page = job_documents.job_page(session, state=chosen, text=text or None, limit=_PAGE, cursor=cursor)
        beside = _beside(session, [job.id for job in page.items])
    filters = {name: value for name, value in (("state", chosen), ("text", text)) if value}
    return render(
        request,
        "jobs.html",
        page=page,
        beside=beside,
        states=list(JobState),
        state=chosen,
        text=text,
        cursor=cursor,
        **page_links("/jobs", filters, cursor=page.next),
    )


def _beside(session: Session, job_ids: Sequence[UUID]) -> dict[UUID, Beside]:
    query = (
        select(JobRow.id, JobRow.file_bytes, RecipeRow.model_id, RecipeRow.weights_id)
        .outerjoin(RecipeRow, RecipeRow.sha256 == JobRow.recipe_document_sha256)
        .where(JobRow.id.in_(job_ids))
    )
    rows = session.execute(query)
    return {job_id: Beside(size, model_id, weights_id) for job_id, size, model_id, weights_id in rows}


@router.get("/jobs/changes")
async def watch(service: CurrentService) -> Response:
    """Tells whenever the list of jobs is no more as it was, as server-sent events."""
    return service.streams.response(_changes(service.job_list))


async def _changes(feed: JobListFeed) -> AsyncIterator[bytes]:
    with feed.subscription() as changes:
        while True:
            has_changed = await changes.next(event_streams.PING_SECONDS)
            if changes.is_over:
                return
            yield (
                format_sse_event(event="changed", data_str="null") if has_changed else format_sse_event(comment="ping")
            )
