"""What must hold of the payload of one tensor object, checked tile by tile against its value.

Every stored word is compared with what the sources say: preserved and copied words directly, codes and scales of an
encoder profile with their second derivation, which native code of the verifier's own makes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

import numpy as np

from schemas.recipe.expanded import Nonfinite, Require
from schemas.registry import (
    FORMATS,
    BlockScaledGeometry,
    DirectGeometry,
    EncoderProfile,
    Format,
    GroupedGeometry,
    RowScaledGeometry,
    WordOrigin,
)
from schemas.storage_layouts import K_ALIGNMENT, SCALE_TILE_ROWS, PlaneName
from workers import _native
from workers.engine.histogram import Histogram
from workers.engine.scratch import Bytes, Scratch
from workers.engine.tiles import Tile
from workers.engine.verify.copy_checks import (
    block_scaled_check,
    divisor_check,
    row_copied_check,
    row_histogram,
    whole_scale_tiles,
)
from workers.engine.verify.evaluation import evaluate_exactly, width
from workers.engine.verify.selection import RowRange
from workers.engine.verify.subject import (
    Check,
    Checked,
    Subject,
    TileStatistics,
    covering_tiles,
    expected_words,
    refuse_fault,
    refuse_mismatch,
    rows_and_columns,
    stored_bytes,
)


def tensor_checks(subject: Subject, ranges: tuple[RowRange, ...]) -> Iterator[Check]:
    """Checks that cover the given rows of the object, one bounded tile each."""
    geometry = FORMATS[subject.spec.format].geometry
    match geometry:
        case DirectGeometry(word_bytes):
            for tile in covering_tiles(subject, ranges, word_bytes, column_step=1):
                yield _direct_check(subject, tile, word_bytes)
        case GroupedGeometry():
            for tile in covering_tiles(subject, ranges, width(subject.value), column_step=K_ALIGNMENT):
                yield _grouped_check(subject, geometry, tile)
        case RowScaledGeometry():
            yield from _row_scaled_checks(subject, ranges)
        case BlockScaledGeometry():
            whole, step = whole_scale_tiles(ranges), geometry.k_multiple
            for tile in covering_tiles(subject, whole, 1, row_step=SCALE_TILE_ROWS, column_step=step):
                yield block_scaled_check(subject, geometry, tile)
            yield divisor_check(subject)
        case _:
            assert_never(geometry)


def _direct_check(subject: Subject, tile: Tile, size: int) -> Check:
    spec = subject.spec

    def check(scratch: Scratch) -> Checked:
        expected = expected_words(subject, scratch, subject.value, tile)
        stored = scratch.take("stored words", tile.rows * tile.width * size)
        at = 0
        for start, count in tile.runs():
            subject.read(start * size, stored[at : at + count * size])
            at += count * size
        refuse_mismatch(subject, _native.compare_words(expected, stored, size, tile.width), subject.value, tile)
        dtype = "I32" if spec.format is Format.I32 else ("F32" if spec.format is Format.FP32 else "BF16")
        if spec.require is Require.POSITIVE:
            refuse_fault(subject, _native.check_positive(stored, dtype, tile.width), subject.value, tile)
        elif spec.format is not Format.I32 and spec.nonfinite is Nonfinite.REJECT:
            refuse_fault(subject, _native.check_finite(stored, dtype, tile.width), subject.value, tile)
        return Checked(stored.size, _direct_statistics(subject, scratch, tile, stored) if subject.lossy else None)

    return check


def _direct_statistics(subject: Subject, scratch: Scratch, tile: Tile, stored: Bytes) -> TileStatistics:
    exact = np.concatenate(
        [evaluate_exactly(subject.value, s, s + count, subject.leaves, scratch) for s, count in tile.runs()]
    )
    if subject.spec.format is Format.BF16:
        kept = (stored.view("<u2").astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    else:
        kept = stored.view("<f4").astype(np.float64)
    # What the recipe lets pass as infinity or NaN was compared word by word, and has no error to measure.
    finite = np.isfinite(kept) & np.isfinite(exact)
    kept, exact = kept[finite], exact[finite]
    error = kept - exact
    largest = float(np.max(np.abs(error), initial=0.0))
    return TileStatistics(largest, float(error @ error), float(exact @ exact), exact.size)


def _grouped_check(subject: Subject, geometry: GroupedGeometry, tile: Tile) -> Check:
    planes = {plane.name: plane for plane in subject.planes}
    groups = -(-tile.width // K_ALIGNMENT) * K_ALIGNMENT // geometry.group
    first = tile.column // geometry.group

    def check(scratch: Scratch) -> Checked:
        source = expected_words(subject, scratch, subject.value, tile)

        def stored(name: PlaneName, group_bytes: int) -> Bytes:
            if name not in planes:
                return np.empty(0, np.uint8)
            return stored_bytes(subject, scratch, planes[name], tile, first * group_bytes, groups * group_bytes)

        codes = stored(PlaneName.CODES, geometry.base_bytes)
        high = stored(PlaneName.HIGH, geometry.high_bytes)
        scales = stored(PlaneName.SCALES, 2)
        bits = geometry.code_bits
        derived = _native.derive_grouped(source, str(subject.value.dtype), bits, tile.width, codes, high, scales, True)
        statistics, histogram = _judge(subject, derived, tile), None
        if subject.histograms:
            histogram = Histogram.of(_native.histogram_grouped(bits, tile.width, codes, high, scales))
        return Checked(codes.size + high.size + scales.size, statistics, histogram)

    return check


def _judge(subject: Subject, derived: _native.Derivation, tile: Tile) -> TileStatistics:
    refuse_fault(subject, derived.fault, subject.value, tile)
    refuse_mismatch(subject, derived.mismatch, subject.value, tile)
    error, signal = float(np.sum(derived.row_error)), float(np.sum(derived.row_signal))
    return TileStatistics(derived.max_abs, error, signal, tile.rows * tile.width)


def _row_scaled_checks(subject: Subject, ranges: tuple[RowRange, ...]) -> Iterator[Check]:
    match subject.spec.encode:
        case EncoderProfile.FP8_ROW_MAXABS_RECIP_RNE_V1:
            _, columns = rows_and_columns(subject.spec)
            for tile in covering_tiles(subject, ranges, width(subject.value), column_step=columns):
                yield _row_encoded_check(subject, tile)
        case WordOrigin.COPY:
            for tile in covering_tiles(subject, ranges, 1, column_step=1):
                yield row_copied_check(subject, tile)
        case EncoderProfile.MAXABS_F16_RECIP_RNE_V1 | WordOrigin.PRESERVE:
            raise TypeError(f"{subject.spec.encode} makes no {subject.spec.format}")
        case _:
            assert_never(subject.spec.encode)


def _row_encoded_check(subject: Subject, tile: Tile) -> Check:
    codes_plane, scales_plane = subject.planes

    def check(scratch: Scratch) -> Checked:
        source = expected_words(subject, scratch, subject.value, tile)
        codes = stored_bytes(subject, scratch, codes_plane, tile, 0, tile.width)
        scales = stored_bytes(subject, scratch, scales_plane, tile, 0, scales_plane.row_bytes)
        derived = _native.derive_fp8_row(source, str(subject.value.dtype), tile.width, codes, scales, True)
        statistics = _judge(subject, derived, tile)
        return Checked(codes.size + scales.size, statistics, row_histogram(subject, tile, codes, scales))

    return check
