"""Histograms of an object's words as the interface shows them, read from SQL."""

from __future__ import annotations

from sqlalchemy.orm import Session

from schemas.interface import CodeCount, Histograms, ScaleCount
from schemas.registry import Format
from schemas.tables import ObjectHistogramRow, ObjectRow
from schemas.word_values import code_values, scale_bin


def object_histograms(session: Session, row: ObjectRow) -> Histograms | None:
    """Those of an object, None if none were gathered."""
    counted = session.get(ObjectHistogramRow, (row.job_id, row.index))
    if counted is None or row.format is None or not row.shape:
        return None
    format = Format(row.format)
    codes = tuple(
        CodeCount(code=code, value=value, count=count)
        for code, (value, count) in enumerate(zip(code_values(format), counted.codes, strict=True))
        if value is not None
    )
    return Histograms(
        rows=sum(one.count for one in codes) // row.shape[-1],
        codes=codes,
        zero_scales=counted.zero_scales,
        scales=tuple(_scale_count(format, number, count) for number, count in counted.scales),
    )


def _scale_count(format: Format, number: int, count: int) -> ScaleCount:
    first, last = scale_bin(format, number)
    return ScaleCount(first=first, last=last, count=count)
