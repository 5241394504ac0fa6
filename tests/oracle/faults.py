"""Why the oracle refuses to make a word."""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """The failures that the documents name."""

    NONFINITE_SOURCE = "the source is infinity or NaN"
    SCALE_OVERFLOW = "the scale is not finite"
    ROW_TOO_SMALL = "the normalized value is not finite"
    NOT_EXACT = "the value is none of the target's"
    OVERFLOW = "the value rounds past the largest number"
    OUT_OF_RANGE = "the value is outside the integer's interval"
    FRACTIONAL = "the value is no integer"
    NOT_POSITIVE = "the value is not above zero"


class OracleRefusal(Exception):  # noqa: N818 - a refusal is the required outcome, not an error of the oracle
    """`reason`, and `lane`: the element of a group or row that it concerns first."""

    def __init__(self, reason: Reason, lane: int = 0) -> None:
        super().__init__(f"{reason.value} (element {lane})")
        self.reason = reason
        self.lane = lane
