"""Objects and payload bytes by format, and a chart of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import pygal
from markupsafe import Markup
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from schemas.tables import ObjectRow
from service.dashboard.charts import configured, drawn

_SCALES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


@dataclass(frozen=True, slots=True)
class FormatTotal:
    """Objects and payload bytes of one format, or of one encoding of resources."""

    name: str
    objects: int
    bytes: int


def format_totals(session: Session, job_id: UUID) -> list[FormatTotal]:
    """Those of a job's objects, the largest first."""
    name = func.coalesce(ObjectRow.format, ObjectRow.layout)
    query = (
        select(name, func.count(), func.sum(ObjectRow.bytes))
        .where(ObjectRow.job_id == job_id)
        .group_by(name)
        .order_by(func.sum(ObjectRow.bytes).desc())
    )
    return [FormatTotal(name, objects, int(size)) for name, objects, size in session.execute(query)]


def format_chart(totals: Sequence[FormatTotal]) -> Markup:
    """A bar for each format, as long as its payload."""
    largest = max((one.bytes for one in totals), default=0)
    divisor, unit = next(scale for scale in _SCALES if largest >= scale[0] or scale is _SCALES[-1])
    chart = configured(
        pygal.HorizontalBar,
        height=70 + 34 * len(totals),
        x_title=f"{unit} of payload",
        show_legend=False,
        show_y_guides=False,
    )
    # The library draws from the bottom up.
    chart.x_labels = [one.name for one in reversed(totals)]
    chart.add("payload", [round(one.bytes / divisor, 3) for one in reversed(totals)])
    return drawn(chart, f"Payload of each format, in {unit}")
