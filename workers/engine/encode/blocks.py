"""How the payload of one object is made, as independent bounded blocks in row-major order.

A block reads a run of the object's value, makes words of it by the object's encoder profile or copies them, and writes
its spans of the payload's planes (storage-layouts.md). Blocks share nothing, so any thread may run any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Protocol, assert_never

import numpy as np

from schemas.errors import WordError
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
from schemas.storage_layouts import K_ALIGNMENT, SCALE_TILE_ROWS, Payload, PlaneName
from workers import _native
from workers.engine.encode.encoders import Encoders
from workers.engine.encode.evaluation import Evaluation, width
from workers.engine.encode.faults import word_error
from workers.engine.recipe.inference import Typed
from workers.engine.scratch import Bytes, Scratch
from workers.engine.tiles import Tile, tiles


class PayloadWriter(Protocol):
    """Writes into one object's payload."""

    def __call__(self, offset: int, data: Bytes) -> None:
        """Puts `data` at byte `offset` of the payload."""


Block = Callable[[Evaluation, PayloadWriter, Scratch], int]
"""Makes one block and returns the payload bytes that it wrote."""


@dataclass(frozen=True, slots=True)
class Making:
    """One tensor object about to be made: what it is, its value, where its bytes go, what encodes it."""

    spec: ExpandedObject
    value: Typed
    payload: Payload
    block_bytes: int
    encoders: Encoders

    @property
    def encoded_elements(self) -> int:
        """Elements of a block that is encoded: both what they are made of and what they become stay in cache."""
        elements = prod(self.spec.shape)
        return self.block_bytes * elements // (elements * width(self.value) + self.payload.bytes)


def tensor_blocks(making: Making) -> Iterator[Block]:
    """The blocks of a tensor object, by its format's geometry."""
    geometry = FORMATS[making.spec.format].geometry
    match geometry:
        case DirectGeometry():
            return _direct_blocks(making, geometry)
        case GroupedGeometry():
            return _grouped_blocks(making, geometry)
        case RowScaledGeometry():
            return _row_scaled_blocks(making)
        case BlockScaledGeometry():
            return _block_scaled_blocks(making, geometry)
        case _:
            assert_never(geometry)


def _direct_blocks(making: Making, geometry: DirectGeometry) -> Iterator[Block]:
    size = geometry.word_bytes
    total = prod(making.spec.shape)
    step = max(making.block_bytes // (2 * size), 1)  # words as they are read, and as the file's cache has them
    for start in range(0, total, step):
        yield _direct_block(making, start, min(step, total - start), size)


def _direct_block(making: Making, start: int, count: int, size: int) -> Block:
    spec = making.spec

    def run(evaluation: Evaluation, write: PayloadWriter, scratch: Scratch) -> int:
        words = scratch.take("words", count * size)
        evaluation.read(making.value, start, words)
        fault = None
        if spec.require is Require.POSITIVE:
            fault = _native.check_positive(words, str(making.value.dtype), count)
        elif spec.format is not Format.I32 and spec.nonfinite is Nonfinite.REJECT:
            fault = _native.check_finite(words, str(making.value.dtype), count)
        if fault is not None:
            raise word_error(fault, evaluation.where(making.value, start + fault.column))
        write(start * size, words)
        return words.size

    return run


def _grouped_blocks(making: Making, geometry: GroupedGeometry) -> Iterator[Block]:
    n, k = making.spec.shape
    for tile in tiles(n, k, limit=making.encoded_elements, column_step=K_ALIGNMENT):
        yield _grouped_block(making, geometry, tile)


def _grouped_block(making: Making, geometry: GroupedGeometry, tile: Tile) -> Block:
    planes = making.payload.planes
    first_group = tile.column // geometry.group
    groups = -(-tile.width // K_ALIGNMENT) * K_ALIGNMENT // geometry.group
    group_bytes = {
        PlaneName.CODES: geometry.base_bytes,
        PlaneName.HIGH: geometry.high_bytes,
        PlaneName.SCALES: 2,
    }

    def run(evaluation: Evaluation, write: PayloadWriter, scratch: Scratch) -> int:
        source = _read_tile(evaluation, scratch, making.value, tile)
        made = {
            plane: scratch.take(plane, tile.rows * groups * group_bytes[plane])
            for plane in (PlaneName.CODES, PlaneName.HIGH, PlaneName.SCALES)
        }
        fault = making.encoders.encode_grouped(
            source,
            str(making.value.dtype),
            geometry.code_bits,
            tile.width,
            made[PlaneName.CODES],
            made[PlaneName.HIGH],
            made[PlaneName.SCALES],
        )
        if fault is not None:
            raise word_error(fault, evaluation.where(making.value, _position(tile, fault)))
        for plane in planes:
            at = plane.offset + tile.row * plane.row_bytes + first_group * group_bytes[plane.name]
            write(at, made[plane.name])
        return sum(made[plane.name].size for plane in planes)

    return run


def _row_scaled_blocks(making: Making) -> Iterator[Block]:
    n, k = making.spec.shape
    match making.spec.encode:
        case EncoderProfile.FP8_ROW_MAXABS_RECIP_RNE_V1:
            for tile in tiles(n, k, limit=making.encoded_elements, column_step=k):
                yield _row_encoded_block(making, tile)
        case WordOrigin.COPY:
            for tile in tiles(n, k, limit=making.block_bytes, column_step=1):
                yield _row_copied_block(making, tile)
        case EncoderProfile.MAXABS_F16_RECIP_RNE_V1 | WordOrigin.PRESERVE:
            raise TypeError(f"{making.spec.encode} makes no {making.spec.format}")
        case _:
            assert_never(making.spec.encode)


def _row_encoded_block(making: Making, tile: Tile) -> Block:
    codes_plane, scales_plane = making.payload.planes

    def run(evaluation: Evaluation, write: PayloadWriter, scratch: Scratch) -> int:
        source = _read_tile(evaluation, scratch, making.value, tile)
        codes = scratch.take("codes", tile.rows * tile.width)
        scales = scratch.take("scales", tile.rows * scales_plane.row_bytes)
        fault = making.encoders.encode_fp8_row(source, str(making.value.dtype), tile.width, codes, scales)
        if fault is not None:
            raise word_error(fault, evaluation.where(making.value, _position(tile, fault)))
        write(codes_plane.offset + tile.row * codes_plane.row_bytes, codes)
        write(scales_plane.offset + tile.row * scales_plane.row_bytes, scales)
        return codes.size + scales.size

    return run


def _row_copied_block(making: Making, tile: Tile) -> Block:
    if not isinstance(making.value.op, Fp8Row):
        raise TypeError("row FP8 words are copied from an fp8_row value")
    codes_plane, scales_plane = making.payload.planes
    codes_value, scales_value = making.value.of

    def run(evaluation: Evaluation, write: PayloadWriter, scratch: Scratch) -> int:
        codes = _read_tile(evaluation, scratch, codes_value, tile)
        scales = scratch.take("scales", tile.rows * scales_plane.row_bytes)
        evaluation.read(scales_value, tile.row, scales)
        fault = _native.legal_fp8_row(tile.width, codes, scales)
        if fault is not None:
            in_scales = fault.kind not in {"nan-code", "code-under-zero-scale"}
            node = scales_value if in_scales else codes_value
            position = tile.row + fault.row if in_scales else _position(tile, fault)
            raise word_error(fault, evaluation.where(node, position))
        _write_rows(write, codes_plane.offset, codes_plane.row_bytes, tile, tile.column, codes)
        write(scales_plane.offset + tile.row * scales_plane.row_bytes, scales)
        return codes.size + (scales.size if tile.column == 0 else 0)

    return run


def _block_scaled_blocks(making: Making, geometry: BlockScaledGeometry) -> Iterator[Block]:
    n, k = making.spec.shape
    shape = tiles(n, k, limit=2 * making.block_bytes, row_step=SCALE_TILE_ROWS, column_step=geometry.k_multiple)
    for tile in shape:
        yield _block_scaled_block(making, geometry, tile)
    yield _divisor_block(making)


def _block_scaled_block(making: Making, geometry: BlockScaledGeometry, tile: Tile) -> Block:
    codes_plane, scales_plane, _ = making.payload.planes
    codes_value, scales_value = making.value.of[:2]
    code_tile = Tile(tile.row, tile.row_stop, tile.column // 2, tile.column_stop // 2, tile.columns // 2)
    group = geometry.group
    scale_tile = Tile(tile.row, tile.row_stop, tile.column // group, tile.column_stop // group, tile.columns // group)

    def run(evaluation: Evaluation, write: PayloadWriter, scratch: Scratch) -> int:
        codes = _read_tile(evaluation, scratch, codes_value, code_tile)
        _write_rows(write, codes_plane.offset, codes_plane.row_bytes, code_tile, code_tile.column, codes)
        scales = _read_tile(evaluation, scratch, scales_value, scale_tile)
        fault = _native.legal_nvfp4_scales(scales, tile.width, swizzled=False)
        if fault is not None:
            column = scale_tile.column + fault.column // group
            position = (tile.row + fault.row) * scale_tile.columns + column
            raise word_error(fault, evaluation.where(scales_value, position))
        swizzled = scratch.take("swizzled", scales.size)
        making.encoders.swizzle_scales(scales, tile.width, swizzled)
        write(scales_plane.offset + tile.row * scale_tile.columns + SCALE_TILE_ROWS * scale_tile.column, swizzled)
        return codes.size + swizzled.size

    return run


def _divisor_block(making: Making) -> Block:
    plane = making.payload.plane(PlaneName.DIVISOR)

    def run(evaluation: Evaluation, write: PayloadWriter, _scratch: Scratch) -> int:
        word = divisor_word(making.value, evaluation, making.spec.name)
        write(plane.offset, np.frombuffer(word, np.uint8))
        return plane.bytes

    return run


def divisor_word(value: Typed, evaluation: Evaluation, name: str) -> bytes:
    """The one divisor word of an NVFP4 value, little-endian.

    Raises WordError unless all that the value names agree bit for bit, finite and above zero.
    """
    op = value.op
    if not isinstance(op, Nvfp4):
        raise TypeError("NVFP4 words are copied from an nvfp4 value")
    words: list[tuple[str, bytes]] = []
    for node in value.of[2:]:
        where = evaluation.where(node, 0)
        if op.convention is DivisorConvention.MULTIPLIERS:
            words.append((where, evaluation.divisor(node, op.reciprocal)))
            continue
        word = np.empty(4, np.uint8)
        evaluation.read(node, 0, word)
        fault = _native.check_positive(word, "F32", 1)
        if fault is not None:
            raise word_error(fault, where)
        words.append((where, bytes(word)))
    if len({word for _, word in words}) > 1:
        shown = "; ".join(f"0x{int.from_bytes(word, 'little'):08x} in {where}" for where, word in words)
        raise WordError(f"object {name}", expected="bit-identical divisors", found=shown)
    return words[0][1]


def _read_tile(evaluation: Evaluation, scratch: Scratch, node: Typed, tile: Tile) -> Bytes:
    size = width(node)
    data = scratch.take(f"tile{size}", tile.rows * tile.width * size)
    at = 0
    for start, count in tile.runs():
        evaluation.read(node, start, data[at : at + count * size])
        at += count * size
    return data


def _write_rows(write: PayloadWriter, offset: int, row_bytes: int, tile: Tile, column: int, data: Bytes) -> None:
    """Puts a tile of one-byte columns into a plane addressed by rows."""
    if tile.whole_rows:
        write(offset + tile.row * row_bytes, data)
        return
    for i, row in enumerate(range(tile.row, tile.row_stop)):
        write(offset + row * row_bytes + column, data[i * tile.width : (i + 1) * tile.width])


def _position(tile: Tile, fault: _native.Fault) -> int:
    return (tile.row + fault.row) * tile.columns + tile.column + fault.column
