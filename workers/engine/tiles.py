"""Cuts a matrix into bounded tiles: runs of whole rows, or runs of columns where even the fewest rows are too much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tile:
    """Rows [row, row_stop) and columns [column, column_stop) of a matrix with `columns` columns."""

    row: int
    row_stop: int
    column: int
    column_stop: int
    columns: int

    @property
    def rows(self) -> int:
        return self.row_stop - self.row

    @property
    def width(self) -> int:
        return self.column_stop - self.column

    @property
    def whole_rows(self) -> bool:
        return self.width == self.columns

    def runs(self) -> Iterator[tuple[int, int]]:
        """The tile as runs of consecutive elements of the matrix in C order: (first element, count)."""
        if self.whole_rows:
            yield self.row * self.columns, self.rows * self.columns
        else:
            for row in range(self.row, self.row_stop):
                yield row * self.columns + self.column, self.width


def tiles(rows: int, columns: int, *, limit: int, row_step: int = 1, column_step: int) -> Iterator[Tile]:
    """Tiles of at most `limit` elements in row-major order, or of the least size where that is more.

    Rows come in multiples of `row_step`; columns are split only in multiples of `column_step`, and only where the
    fewest rows pass the limit whole.
    """
    height = limit // columns // row_step * row_step
    if height:
        for row in range(0, rows, height):
            yield Tile(row, min(row + height, rows), 0, columns, columns)
        return
    width = max(limit // row_step // column_step, 1) * column_step
    for row in range(0, rows, row_step):
        for column in range(0, columns, width):
            yield Tile(row, min(row + row_step, rows), column, min(column + width, columns), columns)
