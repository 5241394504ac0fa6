"""Throughput over time, from samples that a job left."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from schemas.states import JobState
from schemas.tables import ProgressSampleRow
from service.dashboard.throughput import MAX_POINTS, Interval, intervals, throughput_chart
from tests.job_rows import add_job
from workers.database import Database

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)


def _intervals(database: Database, samples: Sequence[tuple[float, JobState, int]]) -> list[Interval]:
    job_id = add_job(database, JobState.VERIFYING)
    with database.writing() as session:
        session.add_all(
            ProgressSampleRow(job_id=job_id, at=BEGIN + timedelta(seconds=at), state=state, bytes_done=done)
            for at, state, done in samples
        )
    with database.reading() as session:
        return intervals(session, job_id)


def test_each_phase_has_its_own_intervals(sqlite_database: Database) -> None:
    encoding, verifying = JobState.CONVERTING, JobState.VERIFYING
    found = _intervals(
        sqlite_database,
        [(0, encoding, 0), (2, encoding, 1000), (6, encoding, 3000), (7, verifying, 0), (9, verifying, 500)],
    )
    assert found == [
        Interval("encoding", 0, 2, 500),
        Interval("encoding", 2, 6, 500),
        Interval("verifying", 7, 9, 250),
    ]


def test_what_a_lost_worker_takes_back_is_no_throughput(sqlite_database: Database) -> None:
    state = JobState.CONVERTING
    found = _intervals(sqlite_database, [(0, state, 0), (2, state, 1000), (4, state, 400), (6, state, 1400)])
    assert [one.bytes_per_second for one in found] == [500, 0, 500]


def test_nothing_is_drawn_of_nothing(sqlite_database: Database) -> None:
    assert _intervals(sqlite_database, []) == []
    assert _intervals(sqlite_database, [(0, JobState.CONVERTING, 1)]) == []


@pytest.mark.parametrize("count", [MAX_POINTS, MAX_POINTS + 1, 599, 601])
def test_many_samples_are_taken_together_from_the_first_to_the_last(sqlite_database: Database, count: int) -> None:
    found = _intervals(sqlite_database, [(at, JobState.CONVERTING, at * at) for at in range(count)])
    assert len(found) <= MAX_POINTS
    assert (found[0].begin, found[-1].end) == (0, count - 1)
    assert all(former.end == latter.begin for former, latter in pairwise(found))
    assert sum(one.bytes_per_second * (one.end - one.begin) for one in found) == pytest.approx((count - 1) ** 2)


def test_a_chart_has_no_style_and_no_script_of_its_own(sqlite_database: Database) -> None:
    chart = throughput_chart(_intervals(sqlite_database, [(at, JobState.CONVERTING, at * 10**8) for at in range(9)]))
    assert chart.startswith("<svg")
    for refused in ("<script", "<style", " style=", "http://www.pygal.org", "<!--"):
        assert refused not in chart
    assert 'role="img"' in chart
    assert "aria-label=" in chart
