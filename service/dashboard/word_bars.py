"""Histograms of codes and scales in as few bars as a chart can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import copysign

from schemas.registry import FORMATS, Format, GroupedGeometry, RowScaledGeometry
from schemas.word_values import code_values, scale_bin

MAX_BARS = 64

_CODES_A_BAR = 5
"""Of W8: its 255 codes make 51 bars, with zero in the middle of one."""


@dataclass(frozen=True, slots=True)
class WordBar:
    """How many words stand for a value from `first` to `last`."""

    first: float
    last: float
    count: int

    @property
    def label(self) -> str:
        first, last = _signed(f"{self.first:.4g}"), _signed(f"{self.last:.4g}")
        return first if first == last else f"{first} to {last}"

    @property
    def tick(self) -> str:
        """Where the bar begins, short enough to stand below it."""
        return _signed(f"{self.first:.0f}" if 100 <= abs(self.first) < 1e4 else f"{self.first:.2g}")


def _signed(number: str) -> str:
    return number.replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True, slots=True)
class _Code:
    bits: int
    value: float
    count: int


def code_bars(format: Format, counts: Sequence[int]) -> list[WordBar]:
    """The codes, counted by their bits, in ascending order of what they stand for before scaling: each alone, five
    together of W8, and of FP8 those of a sign and a binade. A zero with a sign comes before the one without."""
    values = code_values(format)
    codes = [_Code(bits, value, counts[bits]) for bits, value in enumerate(values) if value is not None]
    codes.sort(key=lambda code: (code.value, copysign(1, code.value)))
    match FORMATS[format].geometry:
        case GroupedGeometry(code_bits=8):
            parts = [codes[start : start + _CODES_A_BAR] for start in range(0, len(codes), _CODES_A_BAR)]
        case RowScaledGeometry():
            parts = [list(part) for _, part in groupby(codes, key=lambda code: code.bits >> 3)]
        case _:
            parts = [[code] for code in codes]
    return [WordBar(part[0].value, part[-1].value, sum(code.count for code in part)) for part in parts]


def scale_bars(format: Format, scales: Sequence[Sequence[int]]) -> list[WordBar]:
    """The scales above zero from pairs of bin and count: an eighth of a binade each, or more together where they are
    many. Between the first and the last, bars may be empty."""
    if not scales:
        return []
    counts = {number: count for number, count in scales}  # noqa: C416 - pairs come as lists
    low, high, width = min(counts), max(counts), 1
    while high // width - low // width >= MAX_BARS:
        width *= 2
    bars = []
    for start in range(low // width * width, high + 1, width):
        numbers = range(max(start, low), min(start + width, high + 1))
        first, last = scale_bin(format, numbers[0])[0], scale_bin(format, numbers[-1])[1]
        bars.append(WordBar(first, last, sum(counts.get(number, 0) for number in numbers)))
    return bars
