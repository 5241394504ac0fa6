"""One tensor object under verification: what its words must be, what is stored, and how a difference is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod

from schemas.errors import VerificationError
from schemas.recipe.expanded import ExpandedObject
from schemas.storage_layouts import Plane
from workers import _native
from workers.engine.histogram import Histogram
from workers.engine.recipe.inference import Typed
from workers.engine.scratch import Bytes, Scratch
from workers.engine.tiles import Tile, tiles
from workers.engine.trace import origin
from workers.engine.verify.evaluation import Leaves, evaluate, width
from workers.engine.verify.selection import RowRange


@dataclass(frozen=True, slots=True)
class TileStatistics:
    """Sums over one tile of a lossy object: largest absolute error, squared errors, squared source values, elements."""

    max_abs: float
    squared_error: float
    squared_signal: float
    elements: int


@dataclass(frozen=True, slots=True)
class Checked:
    """A tile that held: the payload bytes compared, the statistics of a lossy object, and the histogram of a quantized
    one where it was asked for."""

    bytes: int
    statistics: TileStatistics | None = None
    histogram: Histogram | None = None


Check = Callable[[Scratch], Checked]
"""Checks one tile; raises VerificationError where it does not hold."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One tensor object under verification."""

    spec: ExpandedObject
    value: Typed
    equals: tuple[Typed, ...]
    planes: tuple[Plane, ...]
    lossy: bool
    histograms: bool
    """Whether the words of quantized tiles are counted."""
    leaves: Leaves
    read: Callable[[int, Bytes], None]
    """Fills a buffer from a byte of the stored payload on."""
    block_bytes: int

    @property
    def where(self) -> str:
        return f"object {self.spec.name}"

    def source_of(self, node: Typed, position: int) -> str:
        """The object and the source element behind a position of `node`."""
        found = origin(node, position, lambda name, at: int(self.leaves.rows(name)[at]))
        return self.where if found is None else f"{self.where}, source tensor {found}"


def rows_and_columns(spec: ExpandedObject) -> tuple[int, int]:
    """An object as a matrix: its last axis, and all others together."""
    return prod(spec.shape[:-1]), spec.shape[-1] if spec.shape else 1


def covering_tiles(
    subject: Subject, ranges: tuple[RowRange, ...], size: int, *, row_step: int = 1, column_step: int
) -> Iterator[Tile]:
    """Bounded tiles over the given rows, for source elements of `size` bytes."""
    _, columns = rows_and_columns(subject.spec)
    limit = max(subject.block_bytes // size, 1)
    for span in ranges:
        for tile in tiles(span.stop - span.start, columns, limit=limit, row_step=row_step, column_step=column_step):
            yield Tile(tile.row + span.start, tile.row_stop + span.start, tile.column, tile.column_stop, columns)


def expected_words(subject: Subject, scratch: Scratch, node: Typed, tile: Tile) -> Bytes:
    """What a tile of `node` must be, row after row; valid until other words are asked for."""
    size = width(node)
    words = scratch.take("expected words", tile.rows * tile.width * size)
    at = 0
    for start, count in tile.runs():
        evaluate(subject.spec.name, node, start, words[at : at + count * size], subject.leaves, scratch)
        at += count * size
    return words


def stored_bytes(subject: Subject, scratch: Scratch, plane: Plane, tile: Tile, start: int, count: int) -> Bytes:
    """`count` bytes from byte `start` of each of the tile's rows of a plane."""
    data = scratch.take(f"stored {plane.name}", tile.rows * count)
    if count == plane.row_bytes:
        subject.read(plane.offset + tile.row * plane.row_bytes, data)
    else:
        for i, row in enumerate(range(tile.row, tile.row_stop)):
            subject.read(plane.offset + row * plane.row_bytes + start, data[i * count : (i + 1) * count])
    return data


def refuse_mismatch(
    subject: Subject, mismatch: _native.Mismatch | None, node: Typed, tile: Tile, elements: int = 1
) -> None:
    """Raises VerificationError for a word that differs from what it must be, naming its place in object and source.

    A column of the tile stands for `elements` of those that native code counts.
    """
    if mismatch is None:
        return
    row, column = tile.row + mismatch.row, tile.column + mismatch.column // elements
    in_value = row * tile.columns + min(column, tile.columns - 1)
    raise VerificationError(
        f"{subject.source_of(node, in_value)}, plane {mismatch.plane}, row {row}, column {column}",
        expected=f"0x{mismatch.expected:x}",
        found=f"0x{mismatch.found:x}",
    )


def refuse_fault(subject: Subject, fault: _native.Fault | None, node: Typed, tile: Tile, elements: int = 1) -> None:
    """Raises VerificationError for a word that its format does not allow. Columns as in `refuse_mismatch`."""
    if fault is None:
        return
    row, column = tile.row + fault.row, tile.column + fault.column // elements
    in_value = row * tile.columns + min(column, tile.columns - 1)
    raise VerificationError(
        f"{subject.source_of(node, in_value)}, row {row}, column {column}",
        expected="words that the format can hold",
        found=f"word 0x{fault.word:x} ({fault.kind})",
    )
