"""What must hold of the payload of one tensor object, checked tile by tile against its value.

Every stored word is compared with what the sources say: preserved and copied words directly, codes and scales of an
encoder profile with their second derivation, which native code of the verifier's own makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import assert_never

import numpy as np

from schemas.errors import VerificationError
from schemas.recipe.expanded import DivisorConvention, ExpandedObject, Fp8Row, Nonfinite, Nvfp4, Require
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
from schemas.storage_layouts import K_ALIGNMENT, SCALE_TILE_ROWS, Plane, PlaneName, payload
from workers import _native
from workers.engine.recipe.inference import Typed
from workers.engine.scratch import Bytes, Scratch
from workers.engine.tiles import Tile, tiles
from workers.engine.trace import origin
from workers.engine.verify.evaluation import Leaves, derived_divisor, evaluate, evaluate_exactly, width
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
    """A tile that held: the payload bytes compared, and the statistics of a lossy object."""

    bytes: int
    statistics: TileStatistics | None = None


Check = Callable[[Scratch], Checked]
"""Checks one tile; raises VerificationError where it does not hold."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One tensor object under verification."""

    spec: ExpandedObject
    value: Typed
    equals: tuple[Typed, ...]
    lossy: bool
    leaves: Leaves
    read: Callable[[int, Bytes], None]
    """Fills a buffer from a byte of the stored payload on."""
    block_bytes: int

    @property
    def planes(self) -> tuple[Plane, ...]:
        return payload(self.spec.format, self.spec.shape, where=self.where).planes

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


def tensor_checks(subject: Subject, ranges: tuple[RowRange, ...]) -> Iterator[Check]:
    """Checks that cover the given rows of the object, one bounded tile each."""
    geometry = FORMATS[subject.spec.format].geometry
    match geometry:
        case DirectGeometry(word_bytes):
            for tile in _tiles(subject, ranges, word_bytes, column_step=1):
                yield _direct_check(subject, tile, word_bytes)
        case GroupedGeometry():
            for tile in _tiles(subject, ranges, width(subject.value), column_step=K_ALIGNMENT):
                yield _grouped_check(subject, geometry, tile)
        case RowScaledGeometry():
            yield from _row_scaled_checks(subject, ranges)
        case BlockScaledGeometry():
            whole = tuple(RowRange(r.start // 128 * 128, -(-r.stop // 128) * 128) for r in ranges)
            for tile in _tiles(subject, _joined(whole), 1, row_step=SCALE_TILE_ROWS, column_step=geometry.k_multiple):
                yield _block_scaled_check(subject, geometry, tile)
            yield _divisor_check(subject)
        case _:
            assert_never(geometry)


def _tiles(
    subject: Subject, ranges: tuple[RowRange, ...], size: int, *, row_step: int = 1, column_step: int
) -> Iterator[Tile]:
    _, columns = rows_and_columns(subject.spec)
    limit = max(subject.block_bytes // size, 1)
    for span in ranges:
        for tile in tiles(span.stop - span.start, columns, limit=limit, row_step=row_step, column_step=column_step):
            yield Tile(tile.row + span.start, tile.row_stop + span.start, tile.column, tile.column_stop, columns)


def _joined(ranges: tuple[RowRange, ...]) -> tuple[RowRange, ...]:
    joined: list[RowRange] = []
    for span in ranges:
        if joined and span.start <= joined[-1].stop:
            joined[-1] = RowRange(joined[-1].start, max(joined[-1].stop, span.stop))
        else:
            joined.append(span)
    return tuple(joined)


def _expected(subject: Subject, node: Typed, tile: Tile) -> Bytes:
    parts = [evaluate(subject.spec.name, node, start, start + count, subject.leaves) for start, count in tile.runs()]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _stored(subject: Subject, scratch: Scratch, plane: Plane, tile: Tile, start: int, count: int) -> Bytes:
    """`count` bytes from byte `start` of each of the tile's rows of a plane."""
    data = scratch.take(f"stored {plane.name}", tile.rows * count)
    if count == plane.row_bytes:
        subject.read(plane.offset + tile.row * plane.row_bytes, data)
    else:
        for i, row in enumerate(range(tile.row, tile.row_stop)):
            subject.read(plane.offset + row * plane.row_bytes + start, data[i * count : (i + 1) * count])
    return data


def _refuse(subject: Subject, mismatch: _native.Mismatch | None, node: Typed, tile: Tile) -> None:
    if mismatch is None:
        return
    row, column = tile.row + mismatch.row, tile.column + mismatch.column
    in_value = row * tile.columns + min(column, tile.columns - 1)
    raise VerificationError(
        f"{subject.source_of(node, in_value)}, plane {mismatch.plane}, row {row}, column {column}",
        expected=f"0x{mismatch.expected:x}",
        found=f"0x{mismatch.found:x}",
    )


def _refuse_fault(subject: Subject, fault: _native.Fault | None, node: Typed, tile: Tile) -> None:
    if fault is None:
        return
    row, column = tile.row + fault.row, tile.column + fault.column
    in_value = row * tile.columns + min(column, tile.columns - 1)
    raise VerificationError(
        f"{subject.source_of(node, in_value)}, row {row}, column {column}",
        expected="words that the format can hold",
        found=f"word 0x{fault.word:x} ({fault.kind})",
    )


def _direct_check(subject: Subject, tile: Tile, size: int) -> Check:
    spec = subject.spec

    def check(scratch: Scratch) -> Checked:
        expected = _expected(subject, subject.value, tile)
        stored = scratch.take("stored words", tile.rows * tile.width * size)
        at = 0
        for start, count in tile.runs():
            subject.read(start * size, stored[at : at + count * size])
            at += count * size
        _refuse(subject, _native.compare_words(expected, stored, size, tile.width), subject.value, tile)
        dtype = "I32" if spec.format is Format.I32 else ("F32" if spec.format is Format.FP32 else "BF16")
        if spec.require is Require.POSITIVE:
            _refuse_fault(subject, _native.check_positive(stored, dtype, tile.width), subject.value, tile)
        elif spec.format is not Format.I32 and spec.nonfinite is Nonfinite.REJECT:
            _refuse_fault(subject, _native.check_finite(stored, dtype, tile.width), subject.value, tile)
        return Checked(stored.size, _direct_statistics(subject, tile, stored) if subject.lossy else None)

    return check


def _direct_statistics(subject: Subject, tile: Tile, stored: Bytes) -> TileStatistics:
    exact = np.concatenate(
        [evaluate_exactly(subject.spec.name, subject.value, s, s + count, subject.leaves) for s, count in tile.runs()]
    )
    if subject.spec.format is Format.BF16:
        kept = (stored.view("<u2").astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    else:
        kept = stored.view("<f4").astype(np.float64)
    error = kept - exact
    return TileStatistics(float(np.max(np.abs(error))), float(error @ error), float(exact @ exact), exact.size)


def _grouped_check(subject: Subject, geometry: GroupedGeometry, tile: Tile) -> Check:
    planes = {plane.name: plane for plane in subject.planes}
    groups = -(-tile.width // K_ALIGNMENT) * K_ALIGNMENT // geometry.group
    first = tile.column // geometry.group

    def check(scratch: Scratch) -> Checked:
        source = _expected(subject, subject.value, tile)

        def stored(name: PlaneName, group_bytes: int) -> Bytes:
            if name not in planes:
                return np.empty(0, np.uint8)
            return _stored(subject, scratch, planes[name], tile, first * group_bytes, groups * group_bytes)

        codes = stored(PlaneName.CODES, geometry.base_bytes)
        high = stored(PlaneName.HIGH, geometry.high_bytes)
        scales = stored(PlaneName.SCALES, 2)
        derived = _native.derive_grouped(
            source, str(subject.value.dtype), geometry.code_bits, tile.width, codes, high, scales, True
        )
        return Checked(codes.size + high.size + scales.size, _judge(subject, derived, tile))

    return check


def _judge(subject: Subject, derived: _native.Derivation, tile: Tile) -> TileStatistics:
    _refuse_fault(subject, derived.fault, subject.value, tile)
    _refuse(subject, derived.mismatch, subject.value, tile)
    error, signal = float(np.sum(derived.row_error)), float(np.sum(derived.row_signal))
    return TileStatistics(derived.max_abs, error, signal, tile.rows * tile.width)


def _row_scaled_checks(subject: Subject, ranges: tuple[RowRange, ...]) -> Iterator[Check]:
    match subject.spec.encode:
        case EncoderProfile.FP8_ROW_MAXABS_RECIP_RNE_V1:
            _, columns = rows_and_columns(subject.spec)
            for tile in _tiles(subject, ranges, width(subject.value), column_step=columns):
                yield _row_encoded_check(subject, tile)
        case WordOrigin.COPY:
            for tile in _tiles(subject, ranges, 1, column_step=1):
                yield _row_copied_check(subject, tile)
        case EncoderProfile.MAXABS_F16_RECIP_RNE_V1 | WordOrigin.PRESERVE:
            raise TypeError(f"{subject.spec.encode} makes no {subject.spec.format}")
        case _:
            assert_never(subject.spec.encode)


def _row_encoded_check(subject: Subject, tile: Tile) -> Check:
    codes_plane, scales_plane = subject.planes

    def check(scratch: Scratch) -> Checked:
        source = _expected(subject, subject.value, tile)
        codes = _stored(subject, scratch, codes_plane, tile, 0, tile.width)
        scales = _stored(subject, scratch, scales_plane, tile, 0, scales_plane.row_bytes)
        derived = _native.derive_fp8_row(source, str(subject.value.dtype), tile.width, codes, scales, True)
        return Checked(codes.size + scales.size, _judge(subject, derived, tile))

    return check


def _row_copied_check(subject: Subject, tile: Tile) -> Check:
    if not isinstance(subject.value.op, Fp8Row):
        raise TypeError("row FP8 words are copied from an fp8_row value")
    codes_plane, scales_plane = subject.planes
    codes_value, scales_value = subject.value.of
    column = Tile(tile.row, tile.row_stop, 0, 1, 1)

    def check(scratch: Scratch) -> Checked:
        codes = _stored(subject, scratch, codes_plane, tile, tile.column, tile.width)
        scales = _stored(subject, scratch, scales_plane, tile, 0, scales_plane.row_bytes)
        expected = _expected(subject, codes_value, tile)
        _refuse(subject, _native.compare_words(expected, codes, 1, tile.width), codes_value, tile)
        expected = _expected(subject, scales_value, column)
        _refuse(subject, _native.compare_words(expected, scales, 2, 1), scales_value, column)
        _refuse_fault(subject, _native.legal_fp8_row(tile.width, codes, scales), codes_value, tile)
        return Checked(codes.size + scales.size)

    return check


def _block_scaled_check(subject: Subject, geometry: BlockScaledGeometry, tile: Tile) -> Check:
    codes_plane, scales_plane, _ = subject.planes
    codes_value, scales_value = subject.value.of[:2]
    half = Tile(tile.row, tile.row_stop, tile.column // 2, tile.column_stop // 2, tile.columns // 2)
    group = geometry.group
    groups = Tile(tile.row, tile.row_stop, tile.column // group, tile.column_stop // group, tile.columns // group)

    def check(scratch: Scratch) -> Checked:
        codes = _stored(subject, scratch, codes_plane, half, half.column, half.width)
        _refuse(
            subject,
            _native.compare_words(_expected(subject, codes_value, half), codes, 1, half.width),
            codes_value,
            half,
        )
        scales = scratch.take("stored tiles", groups.rows * groups.width)
        subject.read(scales_plane.offset + tile.row * groups.columns + SCALE_TILE_ROWS * groups.column, scales)
        natural = _expected(subject, scales_value, groups)
        mismatch = _native.compare_swizzled(natural, tile.width, scales)
        _refuse(subject, mismatch, scales_value, groups)
        _refuse_fault(subject, _native.legal_nvfp4_scales(natural, tile.width, swizzled=False), scales_value, groups)
        return Checked(codes.size + scales.size)

    return check


def _divisor_check(subject: Subject) -> Check:
    plane = subject.planes[-1]

    def check(_scratch: Scratch) -> Checked:
        stored = np.empty(plane.bytes, np.uint8)
        subject.read(plane.offset, stored)
        found = int.from_bytes(bytes(stored), "little")
        for value in (subject.value, *subject.equals):
            for where, expected in _divisors(subject, value):
                if expected != found:
                    raise VerificationError(
                        f"{where}, plane {plane.name}", expected=f"0x{expected:08x}", found=f"0x{found:08x}"
                    )
        if not 0 < found < 0x7F800000:
            raise VerificationError(subject.where, expected="a finite divisor above zero", found=f"0x{found:08x}")
        return Checked(plane.bytes)

    return check


def _divisors(subject: Subject, value: Typed) -> Iterator[tuple[str, int]]:
    """Each divisor word that an NVFP4 value names, and where it comes from."""
    op = value.op
    if not isinstance(op, Nvfp4):
        raise TypeError("NVFP4 words are copied from an nvfp4 value")
    for node in value.of[2:]:
        where = subject.source_of(node, 0)
        word = bytes(evaluate(subject.spec.name, node, 0, 1, subject.leaves))
        if op.convention is DivisorConvention.MULTIPLIERS:
            word = bytes(derived_divisor(word, op.reciprocal, where))
        yield where, int.from_bytes(word, "little")
