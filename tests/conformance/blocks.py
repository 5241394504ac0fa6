"""A conformance case of an encoder: rows of source words, what the oracle makes of them, and where it stops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tests.oracle import fp8_row, grouped
from tests.oracle.casts import FLOATS
from tests.oracle.faults import OracleRefusal, Reason
from tests.oracle.storage_layouts import RowSplit, row_split_planes

SCHEMES = {scheme.name: scheme for scheme in grouped.SCHEMES}
FP8_ROW = "FP8_E4M3FN_ROW_BF16S"


@dataclass(frozen=True, slots=True)
class Planes:
    """What an encoder writes for a block: the planes of the format's layout, `high` empty where it has none."""

    codes: bytes
    high: bytes
    scales: bytes

    def flipped(self, plane: str, bit: int) -> Planes:
        """The same planes but for one bit of one of them."""
        changed = bytearray(getattr(self, plane))
        changed[bit // 8] ^= 1 << (bit % 8)
        return replace(self, **{plane: bytes(changed)})


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why and where an encoder stops: at the first group or row that the profile refuses. `word` is the source word
    there, but the scale that was chosen for a row that is too small."""

    reason: Reason
    row: int
    column: int
    word: int


@dataclass(frozen=True)
class Block:
    """`words` are the words of an [n,k] matrix of dtype BF16, F16 or F32 in C order; `format` names the target."""

    name: str
    format: str
    dtype: str
    k: int
    words: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.words or len(self.words) % self.k:
            raise ValueError(f"{self.name}: {len(self.words)} words make no rows of {self.k}")

    @property
    def n(self) -> int:
        return len(self.words) // self.k

    @property
    def rows(self) -> list[tuple[int, ...]]:
        return [self.words[start : start + self.k] for start in range(0, len(self.words), self.k)]

    @property
    def source(self) -> bytes:
        """The words as a checkpoint holds them, little-endian."""
        width = FLOATS[self.dtype].bits // 8
        return b"".join(word.to_bytes(width, "little") for word in self.words)

    @property
    def plane_bytes(self) -> tuple[int, int, int]:
        """Sizes of the planes: codes, high, scales."""
        if self.format == FP8_ROW:
            return self.n * self.k, 0, 2 * self.n
        shape = RowSplit(SCHEMES[self.format], self.n, self.k)
        places = self.n * shape.groups
        return places * shape.base, places * shape.high, places * 2

    @property
    def blank(self) -> Planes:
        """Planes of these sizes, all zero."""
        codes, high, scales = (bytes(size) for size in self.plane_bytes)
        return Planes(codes, high, scales)

    @cached_property
    def verdict(self) -> Planes | Refusal:
        """What the oracle makes of the block."""
        return self.refusal or self.planes

    @property
    def refusal(self) -> Refusal | None:
        """Why the oracle stops, if it does."""
        return self._outcome[1]

    @property
    def planes(self) -> Planes:
        """The planes as far as the oracle gets: zero from the group or row on that it refuses."""
        return self._outcome[0]

    @cached_property
    def _outcome(self) -> tuple[Planes, Refusal | None]:
        return _fp8_row(self) if self.format == FP8_ROW else _grouped(self)


Family = Callable[[], Iterable[Block]]
"""Makes the cases that belong together."""


def grouped_planes(shape: RowSplit, rows: Sequence[Sequence[grouped.Group]]) -> Planes:
    """The planes of logical groups, as far as there are any."""
    planes = row_split_planes(shape, rows)
    return Planes(planes.codes, planes.high, planes.scales)


def _grouped(block: Block) -> tuple[Planes, Refusal | None]:
    scheme, source = SCHEMES[block.format], FLOATS[block.dtype]
    rows: list[list[grouped.Group]] = []
    refusal = None
    for r, row in enumerate(block.rows):
        rows.append([])
        for g, group in enumerate(grouped.groups_of(scheme, row)):
            try:
                rows[-1].append(grouped.encode_group(scheme, source, group))
            except OracleRefusal as refused:
                column = g * scheme.group + refused.lane
                refusal = Refusal(refused.reason, r, column, row[column])
                break
        if refusal:
            break
    return grouped_planes(RowSplit(scheme, block.n, block.k), rows), refusal


def _fp8_row(block: Block) -> tuple[Planes, Refusal | None]:
    source = FLOATS[block.dtype]
    codes, scales = bytearray(block.n * block.k), bytearray(2 * block.n)
    for r, words in enumerate(block.rows):
        try:
            row = fp8_row.encode_row(source, words)
        except OracleRefusal as refused:
            word = words[refused.lane]
            if refused.reason is Reason.ROW_TOO_SMALL:
                x = fp8_row.rounded_source(source, words)
                word = fp8_row.scale_of(max(value.magnitude for value in x))
            return Planes(bytes(codes), b"", bytes(scales)), Refusal(refused.reason, r, refused.lane, word)
        codes[r * block.k : (r + 1) * block.k] = bytes(row.codes)
        scales[2 * r : 2 * r + 2] = row.scale.to_bytes(2, "little")
    return Planes(bytes(codes), b"", bytes(scales)), None
