"""The objects of a job."""

from __future__ import annotations

from schemas.interface.answers import Answer
from schemas.report import ObjectReport


class CodeCount(Answer):
    """How many elements have a code: `code` are its bits, `value` what it stands for before it is scaled."""

    code: int
    value: float
    count: int


class ScaleCount(Answer):
    """How many scales lie between two values, both included: those of an eighth of a binade."""

    first: float
    last: float
    count: int


class Histograms(Answer):
    """Exact counts of the words of the `rows` that were verified: every code of the format, and the scales above zero
    by bins that are not empty, ascending."""

    rows: int
    codes: tuple[CodeCount, ...]
    zero_scales: int
    scales: tuple[ScaleCount, ...]


class ObjectDocument(ObjectReport):
    """One object of a job. `source_rms` is the RMS of what a lossy one was made of, over the same elements as `error`;
    `histograms` are there of one that was quantized and verified by a conversion."""

    source_rms: float | None
    histograms: Histograms | None
