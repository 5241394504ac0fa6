"""Every 16-bit source word as a group or row of its own: 65,536 for each format and dtype."""

from __future__ import annotations

from dataclasses import dataclass

from tests.conformance.blocks import FP8_ROW, SCHEMES, Block, Planes, grouped_planes
from tests.oracle import fp8_row, grouped
from tests.oracle.casts import FLOATS
from tests.oracle.faults import OracleRefusal, Reason
from tests.oracle.storage_layouts import RowSplit

LONE_WORDS = [(format, dtype) for format in (*SCHEMES, FP8_ROW) for dtype in ("BF16", "F16")]
"""The (format, dtype) pairs to go through."""


@dataclass(frozen=True, slots=True)
class LoneWords:
    """The oracle's verdicts: encodable words as rows of one block, its planes, and why each other word is refused."""

    accepted: Block
    planes: Planes
    refused: dict[int, Reason]


def lone_words(format: str, dtype: str) -> LoneWords:
    """The verdict on each 16-bit word alone."""
    verdicts: dict[int, grouped.Group | fp8_row.Row] = {}
    refused = {}
    for word in range(1 << 16):
        try:
            verdicts[word] = _alone(format, dtype, word)
        except OracleRefusal as refusal:
            refused[word] = refusal.reason
    accepted = Block(f"{format} {dtype}: lone words", format, dtype, 1, tuple(verdicts))
    return LoneWords(accepted, _planes(accepted, list(verdicts.values())), refused)


def _alone(format: str, dtype: str, word: int) -> grouped.Group | fp8_row.Row:
    if format == FP8_ROW:
        return fp8_row.encode_row(FLOATS[dtype], (word,))
    return grouped.encode_group(SCHEMES[format], FLOATS[dtype], (word,))


def _planes(block: Block, rows: list[grouped.Group | fp8_row.Row]) -> Planes:
    if block.format == FP8_ROW:
        codes, scales = (
            b"".join(bytes(row.codes) for row in rows),
            b"".join(row.scale.to_bytes(2, "little") for row in rows),
        )
        return Planes(codes, b"", scales)
    groups = [[grouped.Group(row.scale, row.codes)] for row in rows]
    return grouped_planes(RowSplit(SCHEMES[block.format], block.n, 1), groups)
