"""The page of a job's quality: what quantization cost by layer and by role, the worst objects, and the words of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from math import prod
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import Response
from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.orm import Session

from schemas.registry import Format
from schemas.tables import ObjectHistogramRow, ObjectRow
from service.dashboard.format_totals import format_chart, format_totals
from service.dashboard.page import render
from service.dashboard.quality import LayerFidelity, LossyObject, by_layer, by_role, fidelity, lossy_objects, worst
from service.dashboard.quality_charts import (
    MAX_ROLES,
    error_percent,
    layers_chart,
    roles_chart,
    snr_db,
    words_chart,
)
from service.dashboard.word_bars import WordBar, code_bars, scale_bars
from service.dependencies import CurrentService, JobId, existing_job
from workers.job_document import job_document

router = APIRouter(include_in_schema=False, prefix="/jobs")

WORST = 20

MAX_STACKS = 20
MAX_PLACES = 2000
"""Of a chart of layers. The time that one takes grows faster than their number, and objects may have any names."""

ChosenObject = Annotated[int | None, Query(alias="object", ge=0, le=2**31 - 1)]


@dataclass(frozen=True, slots=True)
class CountedObject:
    """An object whose words were counted."""

    index: int
    name: str
    format: str


@dataclass(frozen=True, slots=True)
class ObjectWords:
    """The words of an object, of the `rows` that were verified, in bars."""

    rows: int
    all_rows: int
    codes: tuple[WordBar, ...]
    scales: tuple[WordBar, ...]
    zero_scales: int


@router.get("/{job_id}/quality")
def show(job_id: JobId, request: Request, service: CurrentService, chosen: ChosenObject = None) -> Response:
    """The quality of a job's objects, and the words of the chosen one; of the worst one where none is chosen."""
    with service.database.reading() as session:
        job = job_document(session, existing_job(session, job_id))
        lossy = lossy_objects(session, job_id)
        counted = _counted_objects(session, job_id)
        totals = format_totals(session, job_id)
        found = worst(lossy, WORST)
        index = _chosen(session, job_id, chosen, counted, [one.index for one, _ in found])
        words = None if index is None else _object_words(session, job_id, index)
    return render(
        request,
        "quality.html",
        job=job,
        **_measured(lossy),
        worst=found,
        totals=totals,
        format_chart=format_chart(totals) if totals else None,
        counted=counted,
        chosen=next((one for one in counted if one.index == index), None),
        words=words,
        **_words_charts(words),
    )


def _measured(lossy: Sequence[LossyObject]) -> dict[str, Any]:
    """What the template draws of the errors of objects; nothing where there are none."""
    if not lossy:
        return {"whole": None}
    layers, roles = tuple(by_layer(lossy)), tuple(by_role(lossy))
    context: dict[str, Any] = {"whole": fidelity(lossy), "layers": layers, "roles": roles, "max_roles": MAX_ROLES}
    context["layer_charts"] = (
        []
        if not _can_be_drawn(layers)
        else [
            layers_chart(layers, snr_db, "dB", "Signal-to-noise ratio of each layer, in decibels"),
            layers_chart(layers, error_percent, "%", "Relative RMS error of each layer, in percent"),
        ]
    )
    context["role_charts"] = [
        roles_chart(roles, snr_db, "dB", "Signal-to-noise ratio of each role, in decibels"),
        roles_chart(roles, error_percent, "%", "Relative RMS error of each role, in percent"),
    ]
    return context


def _can_be_drawn(layers: Sequence[LayerFidelity]) -> bool:
    stacks = len({one.stack for one in layers})
    return 0 < stacks <= MAX_STACKS and stacks * len({one.layer for one in layers}) <= MAX_PLACES


def _words_charts(words: ObjectWords | None) -> dict[str, Markup | None]:
    if words is None:
        return {"codes_chart": None, "scales_chart": None}
    codes = words_chart(words.codes, "code, before it is scaled", "elements", "How many elements have each code")
    label = "How many scales lie in each range"
    scales = words_chart(words.scales, "scale", "scales", label) if words.scales else None
    return {"codes_chart": codes, "scales_chart": scales}


def _counted_objects(session: Session, job_id: UUID) -> list[CountedObject]:
    query = (
        select(ObjectRow.index, ObjectRow.name, ObjectRow.format)
        .where(ObjectRow.job_id == job_id)
        .where(ObjectRow.index.in_(select(ObjectHistogramRow.object_index).where(ObjectHistogramRow.job_id == job_id)))
        .order_by(ObjectRow.index)
    )
    return [CountedObject(index, name, format or "") for index, name, format in session.execute(query)]


def _chosen(
    session: Session, job_id: UUID, chosen: int | None, counted: Sequence[CountedObject], worst_first: Sequence[int]
) -> int | None:
    """The index of the object whose words are shown, None where no words were counted. Raises HTTPException 404."""
    indices = {one.index for one in counted}
    if chosen is not None:
        if session.get(ObjectRow, (job_id, chosen)) is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, f"Job {job_id} has no object {chosen}.")
        return chosen if chosen in indices else None
    return next((index for index in worst_first if index in indices), min(indices, default=None))


def _object_words(session: Session, job_id: UUID, index: int) -> ObjectWords:
    row = session.get_one(ObjectRow, (job_id, index))
    histogram = session.get_one(ObjectHistogramRow, (job_id, index))
    format, columns = Format(row.format or ""), (row.shape or [1])[-1]
    return ObjectWords(
        rows=sum(histogram.codes) // columns,
        all_rows=prod((row.shape or [1])[:-1]),
        codes=tuple(code_bars(format, histogram.codes)),
        scales=tuple(scale_bars(format, histogram.scales)),
        zero_scales=histogram.zero_scales,
    )
