"""What is written to SQL of the objects that verification passed: checks, error statistics and histograms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import delete, insert, update
from sqlalchemy.orm import Session

from schemas.report import VerifiedObject
from schemas.states import ObjectState
from schemas.tables import ObjectHistogramRow, ObjectRow, VerificationCheckRow
from workers.engine.histogram import Histogram

_HISTOGRAMS_AT_A_TIME = 500
"""As many are spelled as JSON before they are written: one may have some thousand numbers."""


def record_findings(
    session: Session, job_id: UUID, verified: Sequence[VerifiedObject], histograms: Mapping[int, Histogram]
) -> None:
    """Records what was found of the objects of a job, in the place of what an earlier verification found."""
    for table in (VerificationCheckRow, ObjectHistogramRow):
        session.execute(delete(table).where(table.job_id == job_id))
    session.execute(
        update(ObjectRow),
        [
            {
                "job_id": job_id,
                "index": done.index,
                "state": ObjectState.VERIFIED,
                "error": None if done.error is None else done.error.model_dump(),
                "source_rms": done.source_rms,
            }
            for done in verified
        ],
    )
    checks = [
        {"job_id": job_id, "object_index": done.index, "position": position, **check.model_dump()}
        for done in verified
        for position, check in enumerate(done.checks)
    ]
    if checks:
        session.execute(insert(VerificationCheckRow), checks)
    indices = sorted(histograms)
    for start in range(0, len(indices), _HISTOGRAMS_AT_A_TIME):
        session.execute(
            insert(ObjectHistogramRow),
            [
                {"job_id": job_id, "object_index": index, **_histogram_values(histograms[index])}
                for index in indices[start : start + _HISTOGRAMS_AT_A_TIME]
            ],
        )


def _histogram_values(histogram: Histogram) -> dict[str, object]:
    bins, counts = histogram.scale_bins.tolist(), histogram.scale_counts.tolist()
    return {
        "codes": histogram.codes.tolist(),
        "scales": [list(pair) for pair in zip(bins, counts, strict=True)],
        "zero_scales": histogram.zero_scales,
    }
