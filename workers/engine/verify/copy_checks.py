"""Checks of copied quantized words: row FP8 and NVFP4, each plane against its own value."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from schemas.errors import VerificationError
from schemas.recipe.expanded import DivisorConvention, Fp8Row, Nvfp4
from schemas.registry import BlockScaledGeometry
from schemas.storage_layouts import SCALE_TILE_ROWS
from workers import _native
from workers.engine.histogram import Histogram
from workers.engine.recipe.inference import Typed
from workers.engine.scratch import Bytes, Scratch
from workers.engine.tiles import Tile
from workers.engine.verify.evaluation import derived_divisor, evaluate, width
from workers.engine.verify.selection import RowRange
from workers.engine.verify.subject import (
    Check,
    Checked,
    Subject,
    expected_words,
    refuse_fault,
    refuse_mismatch,
    stored_bytes,
)


def whole_scale_tiles(ranges: tuple[RowRange, ...]) -> tuple[RowRange, ...]:
    """The ranges, widened to the tiles of rows whose scales lie together, where they touch joined."""
    step = SCALE_TILE_ROWS
    found: list[RowRange] = []
    for span in ranges:
        start, stop = span.start // step * step, -(-span.stop // step) * step
        if found and start <= found[-1].stop:
            found[-1] = RowRange(found[-1].start, max(found[-1].stop, stop))
        else:
            found.append(RowRange(start, stop))
    return tuple(found)


def row_copied_check(subject: Subject, tile: Tile) -> Check:
    if not isinstance(subject.value.op, Fp8Row):
        raise TypeError("row FP8 words are copied from an fp8_row value")
    codes_plane, scales_plane = subject.planes
    codes_value, scales_value = subject.value.of
    column = Tile(tile.row, tile.row_stop, 0, 1, 1)

    def check(scratch: Scratch) -> Checked:
        codes = stored_bytes(subject, scratch, codes_plane, tile, tile.column, tile.width)
        scales = stored_bytes(subject, scratch, scales_plane, tile, 0, scales_plane.row_bytes)
        expected = expected_words(subject, scratch, codes_value, tile)
        refuse_mismatch(subject, _native.compare_words(expected, codes, 1, tile.width), codes_value, tile)
        expected = expected_words(subject, scratch, scales_value, column)
        refuse_mismatch(subject, _native.compare_words(expected, scales, 2, 1), scales_value, column)
        refuse_fault(subject, _native.legal_fp8_row(tile.width, codes, scales), codes_value, tile)
        return Checked(codes.size + scales.size, histogram=row_histogram(subject, tile, codes, scales))

    return check


def row_histogram(subject: Subject, tile: Tile, codes: Bytes, scales: Bytes) -> Histogram | None:
    """Of a tile of row-scaled FP8, if it is wanted. Only the first tile of a row that has several counts its scale."""
    if not subject.histograms:
        return None
    counted = Histogram.of(_native.histogram_fp8_row(tile.width, codes, scales))
    return counted if tile.column == 0 else counted.without_scales()


def block_scaled_check(subject: Subject, geometry: BlockScaledGeometry, tile: Tile) -> Check:
    codes_plane, scales_plane, _ = subject.planes
    codes_value, scales_value = subject.value.of[:2]
    half = Tile(tile.row, tile.row_stop, tile.column // 2, tile.column_stop // 2, tile.columns // 2)
    group = geometry.group
    groups = Tile(tile.row, tile.row_stop, tile.column // group, tile.column_stop // group, tile.columns // group)

    def check(scratch: Scratch) -> Checked:
        codes = stored_bytes(subject, scratch, codes_plane, half, half.column, half.width)
        refuse_mismatch(
            subject,
            _native.compare_words(expected_words(subject, scratch, codes_value, half), codes, 1, half.width),
            codes_value,
            half,
        )
        scales = scratch.take("stored tiles", groups.rows * groups.width)
        subject.read(scales_plane.offset + tile.row * groups.columns + SCALE_TILE_ROWS * groups.column, scales)
        natural = expected_words(subject, scratch, scales_value, groups)
        mismatch = _native.compare_swizzled(natural, tile.width, scales)
        refuse_mismatch(subject, mismatch, scales_value, groups, group)
        refuse_fault(
            subject, _native.legal_nvfp4_scales(natural, tile.width, swizzled=False), scales_value, groups, group
        )
        histogram = None
        if subject.histograms:
            histogram = Histogram.of(_native.histogram_nvfp4(tile.width, codes, scales))
        return Checked(codes.size + scales.size, histogram=histogram)

    return check


def divisor_check(subject: Subject) -> Check:
    plane = subject.planes[-1]

    def check(scratch: Scratch) -> Checked:
        stored = np.empty(plane.bytes, np.uint8)
        subject.read(plane.offset, stored)
        found = int.from_bytes(bytes(stored), "little")
        for value in (subject.value, *subject.equals):
            for where, expected in _divisors(subject, scratch, value):
                if expected != found:
                    raise VerificationError(
                        f"{where}, plane {plane.name}", expected=f"0x{expected:08x}", found=f"0x{found:08x}"
                    )
        if not 0 < found < 0x7F800000:
            raise VerificationError(subject.where, expected="a finite divisor above zero", found=f"0x{found:08x}")
        return Checked(plane.bytes)

    return check


def _divisors(subject: Subject, scratch: Scratch, value: Typed) -> Iterator[tuple[str, int]]:
    """Each divisor word that an NVFP4 value names, and where it comes from."""
    op = value.op
    if not isinstance(op, Nvfp4):
        raise TypeError("NVFP4 words are copied from an nvfp4 value")
    for node in value.of[2:]:
        where = subject.source_of(node, 0)
        out = np.empty(width(node), np.uint8)
        evaluate(subject.spec.name, node, 0, out, subject.leaves, scratch)
        word = bytes(out)
        if op.convention is DivisorConvention.MULTIPLIERS:
            word = bytes(derived_divisor(word, op.reciprocal, where))
        yield where, int.from_bytes(word, "little")
