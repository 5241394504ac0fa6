"""Sizes, times and counts in words that people read at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

UNKNOWN = "\N{EN DASH}"
"""What stands in the place of a quantity that is not known or that there is none of."""

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def size(count: float | None) -> str:
    """Bytes in the largest decimal unit that leaves at least 1, three digits at most: `17.5 GB`."""
    if count is None:
        return UNKNOWN
    value, unit = float(count), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.0f} {_UNITS[unit]}" if unit == 0 or value >= 99.95 else f"{value:.3g} {_UNITS[unit]}"


def rate(bytes_per_second: float | None) -> str:
    """Bytes a second: `412 MB/s`."""
    return UNKNOWN if bytes_per_second is None else f"{size(bytes_per_second)}/s"


def duration(seconds: float | None) -> str:
    """A time span: `3 h 07 min`, `4 min 09 s`, `12 s`, `0.31 s`, `under 1 ms`."""
    if seconds is None:
        return UNKNOWN
    if seconds < 0.001:
        return "under 1 ms"
    if seconds < 10:
        return f"{seconds:.2g} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def between(begin: datetime | None, end: datetime | None) -> str:
    """The time span between two moments; a dash where one is not known."""
    return UNKNOWN if begin is None or end is None else duration((end - begin).total_seconds())


def grouped(count: int | None) -> str:
    """An integer with its thousands apart: `17 495 365 888`, by spaces that do not break."""
    return UNKNOWN if count is None else f"{count:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def moment(at: datetime | None) -> str:
    """A moment in UTC: `2026-11-30 07:18:03`."""
    return UNKNOWN if at is None else f"{at:%Y-%m-%d %H:%M:%S}"


def shape(extents: Sequence[int] | None) -> str:
    """A tensor's shape on one line: `5120 x 17408`, with a sign for times; a dash for what has none, `scalar` for no
    extents."""
    if extents is None:
        return UNKNOWN
    return "\N{NO-BREAK SPACE}\N{MULTIPLICATION SIGN}\N{NO-BREAK SPACE}".join(map(str, extents)) or "scalar"


def percent(fraction: float) -> str:
    """A share as whole percents, rounded down, so that 100 % means all."""
    return f"{int(fraction * 100)} %"
