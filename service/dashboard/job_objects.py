"""The objects of a job as lines of a table: a part of them at a time, since a recipe may have a hundred thousand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from schemas.tables import ObjectRow
from service.dashboard.object_rows import MOST_ROWS, RowPage


@dataclass(frozen=True, slots=True)
class ObjectLine:
    """One object; `format` is the encoding of a resource, which has none."""

    index: int
    name: str
    format: str
    shape: Sequence[int] | None
    bytes: int
    state: str
    snr_db: float | None
    seconds: float | None


_FORMAT = func.coalesce(ObjectRow.format, ObjectRow.layout)


def object_lines(session: Session, job_id: UUID, *, text: str, start: int) -> RowPage[ObjectLine]:
    """Objects with `text` in their name, in payload order, from number `start` on. None before the job is planned."""
    of_job = ObjectRow.job_id == job_id
    total = session.scalar(select(func.count()).where(of_job)) or 0
    wanted = [of_job, ObjectRow.name.icontains(text, autoescape=True)] if text else [of_job]
    fitting = session.scalar(select(func.count()).where(*wanted)) or 0 if text else total
    columns = (
        ObjectRow.index,
        ObjectRow.name,
        _FORMAT,
        ObjectRow.shape,
        ObjectRow.bytes,
        ObjectRow.state,
        ObjectRow.error["snr_db"].as_float(),
        ObjectRow.seconds,
    )
    rows = session.execute(select(*columns).where(*wanted).order_by(ObjectRow.index).offset(start).limit(MOST_ROWS))
    lines = [
        ObjectLine(index, name, format, shape, size, state, snr_db, seconds)
        for index, name, format, shape, size, state, snr_db, seconds in rows
    ]
    return RowPage(lines, start, fitting, total, sorted({line.format for line in lines}))
