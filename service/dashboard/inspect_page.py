"""The page on which an artifact is inspected: one below the source roots, one of a job, or a beginning that is sent."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from pathlib import PurePath
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from starlette.datastructures import UploadFile

from schemas.errors import ArtifactError, NinforgeError, SourceError
from schemas.interface import PRINTABLE, SourceEntry
from service.dashboard.directory import component_configs, directory_rows, directory_totals
from service.dashboard.object_rows import row_page
from service.dashboard.page import render
from service.dashboard.page_links import page_links
from service.dependencies import CurrentService, Service
from service.inspection_document import InspectionDocument
from service.inspections import inspected_artifact, inspected_beginning
from service.source_names import source_entries
from workers.public_problems import public_problem

router = APIRouter(include_in_schema=False, prefix="/inspect")

_MOST_ENTRIES = 500
_UPLOADED = "the file that was sent"

PlaceText = Annotated[str, Query(max_length=4096, pattern=PRINTABLE)]
FilterText = Annotated[str, Query(max_length=200, pattern=PRINTABLE)]
Start = Annotated[int, Query(ge=0, le=10_000_000)]


@dataclass(frozen=True, slots=True)
class Filter:
    """Which objects to show: with `text` in their name, of that format, from number `start` of these on."""

    text: str
    format: str
    start: int


@router.get("")
async def show(
    request: Request,
    service: CurrentService,
    artifact: PlaceText = "",
    under: PlaceText = "",
    text: FilterText = "",
    format: FilterText = "",
    start: Start = 0,
) -> Response:
    """What there is to choose, or the directory of what was chosen."""
    if not artifact:
        return await run_in_threadpool(_choice, request, service, under=under)
    try:
        document = await inspected_artifact(service, artifact)
    except (SourceError, ArtifactError) as error:
        return await run_in_threadpool(_choice, request, service, artifact=artifact, error=error)
    return await run_in_threadpool(_directory, request, document, artifact, Filter(text, format, start))


@router.post("")
async def inspect_sent(request: Request, service: CurrentService) -> Response:
    """The directory of the file whose beginning is in the form."""
    async with request.form(max_files=1, max_fields=0) as form:
        sent = form.get("beginning")
        data = await sent.read() if isinstance(sent, UploadFile) else b""
        name = (sent.filename or _UPLOADED) if isinstance(sent, UploadFile) else _UPLOADED
    try:
        document = await inspected_beginning(data)
    except ArtifactError as error:
        return await run_in_threadpool(_choice, request, service, error=error)
    return await run_in_threadpool(_directory, request, document, name, None)


def _directory(request: Request, document: InspectionDocument, named: str, chosen: Filter | None) -> Response:
    """The page of a directory, of a part that was chosen. What was sent cannot be asked for once more."""
    rows = directory_rows(document)
    shown = chosen or Filter("", "", 0)
    page = row_page(rows, text=shown.text, format=shown.format, start=shown.start)
    query = {"artifact": named, "text": shown.text, "format": shown.format}
    links = page_links("/inspect", query, start=page.next)
    return render(
        request,
        "directory.html",
        named=named,
        found=document,
        components=component_configs(document),
        totals=directory_totals(rows),
        page=page,
        text=shown.text,
        format=shown.format,
        **({"first_page": None, "next_page": None} if chosen is None else links),
    )


def _choice(
    request: Request, service: Service, *, under: str = "", artifact: str = "", error: NinforgeError | None = None
) -> Response:
    problem = None if error is None else public_problem(error, service.settings)
    entries: list[SourceEntry] = []
    if problem is None:
        try:
            entries = list(source_entries(under, service.settings))
        except SourceError as outside:
            problem = public_problem(outside, service.settings)
    return render(
        request,
        "inspect.html",
        HTTPStatus.OK if problem is None else HTTPStatus(problem.status),
        artifact=artifact,
        under=under,
        above=str(PurePath(under).parent) if PurePath(under).parent != PurePath() else "",
        problem=problem,
        entries=entries[:_MOST_ENTRIES],
        left_out=max(0, len(entries) - _MOST_ENTRIES),
        most_bytes=service.settings.max_body_bytes,
    )
