"""Throughput of a job over time, from the samples that its workers left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from uuid import UUID

import pygal
from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.orm import Session

from schemas.states import JobState
from schemas.tables import ProgressSampleRow
from service.dashboard.charts import configured, drawn

MAX_POINTS = 60
"""Points of the chart: more samples are taken together."""

_PHASES = {JobState.CONVERTING: "encoding", JobState.VERIFYING: "verifying"}


@dataclass(frozen=True, slots=True)
class Interval:
    """Payload bytes a second between two moments, in seconds since the first sample."""

    phase: str
    begin: float
    end: float
    bytes_per_second: float


def intervals(session: Session, job_id: UUID) -> list[Interval]:
    """What the job did between its samples; what a lost worker's batch takes back shows as no throughput."""
    columns = (ProgressSampleRow.at, ProgressSampleRow.state, ProgressSampleRow.bytes_done)
    query = select(*columns).where(ProgressSampleRow.job_id == job_id).order_by(ProgressSampleRow.at)
    samples = session.execute(query).all()
    if not samples:
        return []
    step = -(-len(samples) // MAX_POINTS)
    found = []
    for state, phase in _PHASES.items():
        of_phase = [sample for sample in samples if sample.state is state]
        thinned = of_phase[::step] + (of_phase[-1:] if len(of_phase) % step != 1 and step > 1 else [])
        for former, latter in pairwise(thinned):
            begin = (former.at - samples[0].at).total_seconds()
            end = (latter.at - samples[0].at).total_seconds()
            done = max(latter.bytes_done - former.bytes_done, 0)
            found.append(Interval(phase, begin, end, done / max(end - begin, 1e-3)))
    return found


def throughput_chart(found: Sequence[Interval]) -> Markup:
    """A line for each phase: MB of payload a second over seconds."""
    chart = configured(
        pygal.XY,
        height=220,
        x_title="seconds since the first sample",
        y_title="MB/s",
        show_dots=False,
        include_x_axis=True,
        max_scale=6,
    )
    for phase in _PHASES.values():
        points = [
            point
            for one in found
            if one.phase == phase
            for point in ((one.begin, one.bytes_per_second / 1e6), (one.end, one.bytes_per_second / 1e6))
        ]
        chart.add(phase, points)
    return drawn(chart, "Megabytes of payload a second over time, for encoding and for verifying")
