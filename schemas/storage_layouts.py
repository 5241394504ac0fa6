"""Sizes and planes of the four layouts, all closed forms of (format, shape). Implements storage-layouts.md.

row-split-k128-v1          base codes | gap | high bits | gap | scales
blockscale-k16-m128x4-v1   codes | gap | swizzled scales | divisor
row-scale-v1               codes | gap | row multipliers
contiguous-le-v1           words
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import prod
from typing import assert_never

from schemas.errors import RegistryError
from schemas.registry import (
    FORMATS,
    BlockScaledGeometry,
    DirectGeometry,
    Format,
    GroupedGeometry,
    Layout,
    ResourceEncoding,
    RowScaledGeometry,
)

PLANE_ALIGNMENT = 256
K_ALIGNMENT = 128
MAX_RANK = 16
U64_MAX = 2**64 - 1

SCALE_TILE_ROWS = 128
"""Rows of NVFP4 whose scale words share consecutive 512-byte tiles: the least run of rows that stays contiguous."""

ALIGNMENT: dict[Layout | ResourceEncoding, int] = {
    **dict.fromkeys(Layout, PLANE_ALIGNMENT),
    ResourceEncoding.RAW_BYTES: 1,
}
"""Where an object may start in the payload, in bytes."""


class PlaneName(StrEnum):
    """The planes that payloads consist of."""

    WORDS = "words"
    CODES = "codes"
    HIGH = "high"
    SCALES = "scales"
    DIVISOR = "divisor"


@dataclass(frozen=True, slots=True)
class Plane:
    """`bytes` bytes at `offset` from the start of the payload of one object.

    Row r lies at `offset + r * row_bytes`; where `row_bytes` is 0 the plane is not addressed by rows (NVFP4's divisor,
    and its swizzled scales, whose rows are interleaved in tiles of SCALE_TILE_ROWS).
    """

    name: PlaneName
    offset: int
    bytes: int
    row_bytes: int

    @property
    def end(self) -> int:
        return self.offset + self.bytes


@dataclass(frozen=True, slots=True)
class Payload:
    """Geometry of one tensor's payload: its planes in order, and its size in bytes. Gaps between planes are zero."""

    format: Format
    shape: tuple[int, ...]
    planes: tuple[Plane, ...]

    @property
    def bytes(self) -> int:
        return self.planes[-1].end

    def plane(self, name: PlaneName) -> Plane:
        """The plane of this name; KeyError if the format has none."""
        for plane in self.planes:
            if plane.name is name:
                return plane
        raise KeyError(name)


def up(x: int, multiple: int) -> int:
    """x rounded up to a multiple."""
    return -(-x // multiple) * multiple


def payload(format: Format, shape: tuple[int, ...], *, where: str) -> Payload:
    """The payload of a tensor of this format and shape.

    Raises RegistryError for a shape that the format's layout does not store, and for sizes past unsigned 64 bits.
    """
    if any(extent <= 0 for extent in shape):
        raise RegistryError(where, expected="positive extents", found=f"shape {list(shape)}")
    planes = _planes(format, shape, where)
    result = Payload(format, shape, planes)
    if result.bytes > U64_MAX:
        raise RegistryError(where, expected=f"at most {U64_MAX} bytes", found=f"{result.bytes} for shape {list(shape)}")
    return result


def groups_per_row(geometry: GroupedGeometry, k: int) -> int:
    """Physical groups of a row of K elements: K is padded to a multiple of 128."""
    return up(k, K_ALIGNMENT) // geometry.group


def _planes(format: Format, shape: tuple[int, ...], where: str) -> tuple[Plane, ...]:
    geometry = FORMATS[format].geometry
    if isinstance(geometry, DirectGeometry):
        return _contiguous(geometry, shape, where)
    if len(shape) != 2:
        raise RegistryError(where, expected=f"rank 2 for {format}", found=f"shape {list(shape)}")
    n, k = shape
    match geometry:
        case GroupedGeometry():
            return _row_split(geometry, n, k)
        case BlockScaledGeometry():
            return _block_scale(geometry, n, k, where)
        case RowScaledGeometry():
            return _row_scale(geometry, n, k)
        case _:
            assert_never(geometry)


def _contiguous(geometry: DirectGeometry, shape: tuple[int, ...], where: str) -> tuple[Plane, ...]:
    if len(shape) > MAX_RANK:
        raise RegistryError(where, expected=f"rank 0 to {MAX_RANK}", found=f"rank {len(shape)}")
    row_bytes = prod(shape[1:]) * geometry.word_bytes
    rows = shape[0] if shape else 1
    return (Plane(PlaneName.WORDS, 0, rows * row_bytes, row_bytes),)


def _row_split(geometry: GroupedGeometry, n: int, k: int) -> tuple[Plane, ...]:
    groups = groups_per_row(geometry, k)
    base = Plane(PlaneName.CODES, 0, n * groups * geometry.base_bytes, groups * geometry.base_bytes)
    high_offset = up(base.end, PLANE_ALIGNMENT)
    high = Plane(PlaneName.HIGH, high_offset, n * groups * geometry.high_bytes, groups * geometry.high_bytes)
    scales = Plane(PlaneName.SCALES, high_offset + up(high.bytes, PLANE_ALIGNMENT), 2 * n * groups, 2 * groups)
    return (base, high, scales) if geometry.high_bytes else (base, scales)


def _block_scale(geometry: BlockScaledGeometry, n: int, k: int, where: str) -> tuple[Plane, ...]:
    if n % geometry.n_multiple or k % geometry.k_multiple:
        raise RegistryError(
            where,
            expected=f"NVFP4 [N,K] with N a multiple of {geometry.n_multiple} and K of {geometry.k_multiple}",
            found=f"shape {[n, k]}",
        )
    codes = Plane(PlaneName.CODES, 0, n * k // 2, k // 2)
    scales = Plane(PlaneName.SCALES, up(codes.end, PLANE_ALIGNMENT), n * k // geometry.group, 0)
    return (codes, scales, Plane(PlaneName.DIVISOR, scales.end, 4, 0))


def _row_scale(geometry: RowScaledGeometry, n: int, k: int) -> tuple[Plane, ...]:
    codes = Plane(PlaneName.CODES, 0, n * k, k)
    scales = Plane(PlaneName.SCALES, up(codes.end, PLANE_ALIGNMENT), geometry.scale_bytes * n, geometry.scale_bytes)
    return (codes, scales)
