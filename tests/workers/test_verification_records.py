"""What verification found of a job's objects, in SQL."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy import select

from schemas.report import Check, ErrorStatistics, VerifiedObject
from schemas.states import JobState, ObjectState
from schemas.tables import ObjectHistogramRow, ObjectRow, VerificationCheckRow
from tests.job_rows import add_job, object_states
from workers.database import Database
from workers.engine.histogram import Histogram
from workers.verification_records import record_findings


def verified(index: int, *checks: str, rms: float | None = None) -> VerifiedObject:
    return VerifiedObject(
        index=index,
        payload_blake3="0" * 64,
        checks=tuple(Check(name=name, rows=2**40 + number, passed=True) for number, name in enumerate(checks)),
        error=None if rms is None else ErrorStatistics(max_abs=1.0, rms=rms, snr_db=None),
        source_rms=None if rms is None else 2 * rms,
    )


def histogram(*codes: int) -> Histogram:
    counts = np.array(codes, np.uint64)
    return Histogram(counts, np.array([3, 90]), np.array([2**60, 1], np.uint64), zero_scales=2**40)


def found(database: Database, job_id: UUID) -> tuple[list[Any], list[Any]]:
    with database.reading() as session:
        check, counted = VerificationCheckRow, ObjectHistogramRow
        checks = session.execute(
            select(check.object_index, check.position, check.name, check.rows)
            .where(check.job_id == job_id)
            .order_by(check.object_index, check.position)
        )
        histograms = session.execute(
            select(counted.object_index, counted.codes).where(counted.job_id == job_id).order_by(counted.object_index)
        )
        return list(checks), list(histograms)


def test_a_second_verification_takes_the_place_of_the_first(database: Database) -> None:
    job_id, other = (add_job(database, JobState.VERIFYING, sizes=[5, 5]) for _ in range(2))
    for each, names in ((job_id, ("a", "b")), (other, ("kept",))):
        with database.writing() as session:
            record_findings(session, each, [verified(0, *names, rms=0.5), verified(1)], {0: histogram(1, 2**60)})
    with database.writing() as session:
        record_findings(session, job_id, [verified(0, "c"), verified(1, "d", "e")], {1: histogram(7)})
    assert found(database, job_id) == (
        [(0, 0, "c", 2**40), (1, 0, "d", 2**40), (1, 1, "e", 2**40 + 1)],
        [(1, [7])],
    )
    assert found(database, other) == ([(0, 0, "kept", 2**40)], [(0, [1, 2**60])])
    assert object_states(database, job_id) == [ObjectState.VERIFIED] * 2
    with database.reading() as session:
        assert session.get_one(ObjectRow, (job_id, 0)).source_rms is None
        assert session.get_one(ObjectRow, (other, 0)).source_rms == 1.0
        stored = session.get_one(ObjectHistogramRow, (other, 0))
        assert (stored.scales, stored.zero_scales) == ([[3, 2**60], [90, 1]], 2**40)


def test_they_go_with_their_objects(database: Database) -> None:
    job_id = add_job(database, JobState.VERIFYING, sizes=[5])
    with database.writing() as session:
        record_findings(session, job_id, [verified(0, "a")], {0: histogram(1)})
    with database.writing() as session:
        session.delete(session.get_one(ObjectRow, (job_id, 0)))
    assert found(database, job_id) == ([], [])
