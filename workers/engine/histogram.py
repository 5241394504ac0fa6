"""Histograms of the words of a quantized object, gathered tile by tile as it is verified. No kernel is loaded here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from workers import _native

Counts = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Histogram:
    """Exact counts, of the rows that were verified.

    `codes[w]` counts the elements whose code has the bits w, padding left out. `scale_counts[i]` are the scales above
    zero of bin `scale_bins[i]`, ascending, which are those that are not empty (_native.Histogram says what a bin is).
    `zero_scales` counts the scales that are zero.
    """

    codes: Counts
    scale_bins: npt.NDArray[np.int64]
    scale_counts: Counts
    zero_scales: int

    @classmethod
    def of(cls, tile: _native.Histogram) -> Histogram:
        """What one tile gives."""
        bins = np.flatnonzero(tile.scales)
        return cls(tile.codes.copy(), bins, tile.scales[bins], tile.zero_scales)

    def without_scales(self) -> Histogram:
        """The codes alone."""
        return Histogram(self.codes, np.empty(0, np.int64), np.empty(0, np.uint64), 0)

    def __add__(self, other: Histogram) -> Histogram:
        """Both together: sums of integers, so that tiles may come in any order."""
        bins = np.union1d(self.scale_bins, other.scale_bins)
        counts = np.zeros(bins.size, np.uint64)
        for part in (self, other):
            counts[np.searchsorted(bins, part.scale_bins)] += part.scale_counts
        return Histogram(self.codes + other.codes, bins, counts, self.zero_scales + other.zero_scales)
