"""What an artifact shows by itself: that every stored word is one that its format allows (numeric-formats.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import assert_never

import numpy as np

from schemas.errors import VerificationError
from schemas.registry import FORMATS, BlockScaledGeometry, DirectGeometry, GroupedGeometry, RowScaledGeometry
from schemas.storage_layouts import K_ALIGNMENT, SCALE_TILE_ROWS, Plane, PlaneName, payload
from workers import _native
from workers.engine.container.directory import ForeignObject, StoredObject, TensorObject
from workers.engine.container.gaps import StrayBytes, stray_bytes
from workers.engine.container.reader import ArtifactReader
from workers.engine.container.strict_json import describe
from workers.engine.scratch import Bytes, Scratch
from workers.engine.steps import Observer, Step, run_steps
from workers.engine.tiles import Tile, tiles
from workers.engine.verify.model_checks import check_model
from workers.engine.verify.whole_file import Digests, WholeArtifact, check_plane_gaps

BLOCK_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class LegalArtifact:
    """An artifact whose every word is legal, and what stands between its objects where the framing lets that be."""

    digests: WholeArtifact
    free: tuple[StrayBytes, ...]
    passed_over: tuple[str, ...]
    """Bindings and uses of which the architecture knows nothing."""


def verify_words(path: Path, *, threads: int, observer: Observer) -> LegalArtifact:
    """Checks structure, gaps and the legality of every stored word of the artifact at `path`, and digests it.

    It cannot show that the words are the right ones. Raises ArtifactError for a broken container, VerificationError,
    naming object, row and column, for a byte that must be zero, a word that the format does not allow, or an object
    whose format, layout or encoding is not known.
    """
    with ArtifactReader(path) as reader:
        strays = stray_bytes(reader)
        for stray in (one for one in strays if not one.free):
            raise VerificationError(stray.where, expected=stray.expected, found=stray.found)
        _refuse_foreign(reader.artifact.objects)
        check_plane_gaps(reader, reader.artifact.objects)
        passed_over = check_model(reader)
        digests = Digests(reader, observer.advanced)

        def steps() -> Iterator[Step[None]]:
            yield from digests.of_files()
            for index, stored in enumerate(reader.artifact.objects):
                yield digests.of_payload(index)
                yield from _checks(reader, stored)

        run_steps(steps(), threads)
    return LegalArtifact(digests.taken(), strays, passed_over)


def _refuse_foreign(objects: Sequence[StoredObject]) -> None:
    for stored in objects:
        if isinstance(stored, ForeignObject):
            words = stored.layout if stored.format is None else f"{stored.format} in {stored.layout}"
            raise VerificationError(
                f"object {describe(stored.name)}", expected="an encoding whose words are known", found=describe(words)
            )


def _checks(reader: ArtifactReader, stored: StoredObject) -> Iterator[Step[None]]:
    if not isinstance(stored, TensorObject):
        return  # every byte of a resource is legal
    geometry = FORMATS[stored.format].geometry
    match geometry:
        case DirectGeometry():
            return  # every direct word is legal
        case GroupedGeometry():
            for tile in tiles(*stored.shape, limit=BLOCK_BYTES, column_step=K_ALIGNMENT):
                yield partial(_grouped, reader, stored, geometry, tile)
        case RowScaledGeometry():
            for tile in tiles(*stored.shape, limit=BLOCK_BYTES, column_step=1):
                yield partial(_row_scaled, reader, stored, tile)
        case BlockScaledGeometry():
            step = geometry.k_multiple
            for tile in tiles(*stored.shape, limit=16 * BLOCK_BYTES, row_step=SCALE_TILE_ROWS, column_step=step):
                yield partial(_block_scaled, reader, stored, geometry, tile)
            yield partial(_divisor, reader, stored)
        case _:
            assert_never(geometry)


def _grouped(
    reader: ArtifactReader, stored: TensorObject, geometry: GroupedGeometry, tile: Tile, scratch: Scratch
) -> None:
    groups = -(-tile.width // K_ALIGNMENT) * K_ALIGNMENT // geometry.group
    first = tile.column // geometry.group
    read: dict[PlaneName, Bytes] = {PlaneName.HIGH: np.empty(0, np.uint8)}
    for plane in _planes(stored):
        size = {PlaneName.CODES: geometry.base_bytes, PlaneName.HIGH: geometry.high_bytes}.get(plane.name, 2)
        read[plane.name] = _rows(reader, stored, plane, tile, (first * size, groups * size), scratch)
    codes, high, scales = read[PlaneName.CODES], read[PlaneName.HIGH], read[PlaneName.SCALES]
    _refuse(stored, _native.legal_grouped(geometry.code_bits, tile.width, codes, high, scales), tile)


def _row_scaled(reader: ArtifactReader, stored: TensorObject, tile: Tile, scratch: Scratch) -> None:
    codes_plane, scales_plane = _planes(stored)
    codes = _rows(reader, stored, codes_plane, tile, (tile.column, tile.width), scratch)
    scales = _rows(reader, stored, scales_plane, tile, (0, scales_plane.row_bytes), scratch)
    _refuse(stored, _native.legal_fp8_row(tile.width, codes, scales), tile)


def _block_scaled(
    reader: ArtifactReader, stored: TensorObject, geometry: BlockScaledGeometry, tile: Tile, scratch: Scratch
) -> None:
    plane = _planes(stored)[1]
    per_row = tile.columns // geometry.group
    scales = scratch.take("scales", tile.rows * tile.width // geometry.group)
    start = tile.row * per_row + SCALE_TILE_ROWS * tile.column // geometry.group
    reader.read_at(stored, plane.offset + start, scales.data)
    _refuse(stored, _native.legal_nvfp4_scales(scales, tile.width, swizzled=True), tile)


def _divisor(reader: ArtifactReader, stored: TensorObject, _scratch: Scratch) -> None:
    word = bytearray(4)
    reader.read_at(stored, _planes(stored)[2].offset, word)
    if not 0 < int.from_bytes(word, "little") < 0x7F800000:
        raise VerificationError(
            f"object {stored.name}, plane {PlaneName.DIVISOR}",
            expected="a finite divisor above zero",
            found=f"word 0x{int.from_bytes(word, 'little'):08x}",
        )


def _planes(stored: TensorObject) -> tuple[Plane, ...]:
    return payload(stored.format, stored.shape, where=f"object {stored.name}").planes


def _rows(
    reader: ArtifactReader, stored: TensorObject, plane: Plane, tile: Tile, part: tuple[int, int], scratch: Scratch
) -> Bytes:
    """The part (start, count) of each of the tile's rows of a plane, in bytes."""
    start, count = part
    data = scratch.take(plane.name, tile.rows * count)
    if count == plane.row_bytes:
        reader.read_at(stored, plane.offset + tile.row * plane.row_bytes, data.data)
    else:
        for i, row in enumerate(range(tile.row, tile.row_stop)):
            at = plane.offset + row * plane.row_bytes + start
            reader.read_at(stored, at, data[i * count : (i + 1) * count].data)
    return data


def _refuse(stored: TensorObject, fault: _native.Fault | None, tile: Tile) -> None:
    if fault is not None:
        raise VerificationError(
            f"object {stored.name}, row {tile.row + fault.row}, column {tile.column + fault.column}",
            expected=f"a word that {stored.format} allows",
            found=f"0x{fault.word:x} ({fault.kind})",
        )
