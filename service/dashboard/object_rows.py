"""Rows of tables of objects, a part of them at a time: some files have a hundred thousand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

MOST_ROWS = 1500
"""On one page: all of any registered model."""


class Named(Protocol):
    """What rows are filtered by."""

    @property
    def name(self) -> str: ...
    @property
    def format(self) -> str: ...


Row = TypeVar("Row", bound=Named)


@dataclass(frozen=True, slots=True)
class RowPage(Generic[Row]):
    """Rows that fit a filter, from number `start` on: `fitting` of `total` do."""

    rows: Sequence[Row]
    start: int
    fitting: int
    total: int
    formats: Sequence[str]

    @property
    def next(self) -> int | None:
        """Where the following part begins."""
        stop = self.start + len(self.rows)
        return stop if stop < self.fitting else None


def row_page(rows: Sequence[Row], *, text: str, format: str, start: int) -> RowPage[Row]:
    """Rows with `text` in their name, in upper or lower case, and of that format, unless it is empty."""
    sought = text.casefold()
    fitting = [row for row in rows if sought in row.name.casefold() and format in ("", row.format)]
    formats = sorted({row.format for row in rows})
    return RowPage(fitting[start : start + MOST_ROWS], start, len(fitting), len(rows), formats)
