"""The four layouts (storage-layouts.md): logical words to payload bytes and back. Decoding refuses what a producer
may not write: set bits in gaps and padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from tests.oracle.grouped import SCHEMES, Group, Scheme
from tests.oracle.words import integer_word, signed_integer

WORD_BYTES = {"BF16": 2, "FP32": 4, "I32": 4}
"""contiguous-le-v1: bytes a word."""


class NotCanonicalError(ValueError):
    """Payload bytes that the layout does not allow."""


def up(x: int, a: int) -> int:
    """x rounded up to a multiple of a."""
    return x if x % a == 0 else x + a - x % a


def payload_bytes(format: str, shape: Sequence[int]) -> int:
    """The closed form of a payload's size that the layout's text gives."""
    for scheme in SCHEMES:
        if scheme.name == format:
            return RowSplit(scheme, *shape).bytes
    if format == "NVFP4":
        n, k = shape
        return up(n * k // 2, 256) + n * k // 16 + 4
    if format == "FP8_E4M3FN_ROW_BF16S":
        n, k = shape
        return up(n * k, 256) + 2 * n
    return prod(shape) * WORD_BYTES[format]


# contiguous-le-v1


def encode_contiguous(format: str, words: Iterable[int]) -> bytes:
    """Words in C order, little-endian."""
    return b"".join(word.to_bytes(WORD_BYTES[format], "little") for word in words)


def decode_contiguous(format: str, payload: bytes) -> list[int]:
    """The words in C order."""
    return _little_endian_words(payload, WORD_BYTES[format])


# row-split-k128-v1


@dataclass(frozen=True, slots=True)
class RowSplit:
    """The quantities of the layout's text for a scheme and an [n,k] shape; `base` and `high` are bytes a group."""

    scheme: Scheme
    n: int
    k: int

    @property
    def high_bits(self) -> int:
        """Bits of a code that the base plane does not hold."""
        return self.scheme.code_bits - 4 if self.scheme.code_bits < 8 else 0

    @property
    def base(self) -> int:
        return 32

    @property
    def high(self) -> int:
        return self.scheme.group * self.high_bits // 8

    @property
    def groups(self) -> int:
        return up(self.k, 128) // self.scheme.group

    @property
    def high_offset(self) -> int:
        return up(self.n * self.groups * self.base, 256)

    @property
    def scale_offset(self) -> int:
        return self.high_offset + up(self.n * self.groups * self.high, 256)

    @property
    def bytes(self) -> int:
        return self.scale_offset + 2 * self.n * self.groups


@dataclass(frozen=True, slots=True)
class RowSplitPlanes:
    """The three planes without the gaps between them."""

    codes: bytes
    high: bytes
    scales: bytes


def row_split_planes(shape: RowSplit, rows: Sequence[Sequence[Group]]) -> RowSplitPlanes:
    """The planes that hold the logical groups of every row; what no lane fills stays zero."""
    codes = bytearray(shape.n * shape.groups * shape.base)
    high = bytearray(shape.n * shape.groups * shape.high)
    scales = bytearray(shape.n * shape.groups * 2)
    for r, row in enumerate(rows):
        for g, group in enumerate(row):
            place = r * shape.groups + g
            scales[2 * place : 2 * place + 2] = group.scale.to_bytes(2, "little")
            for lane, code in enumerate(group.codes):
                u = integer_word(shape.scheme.code_bits, code)
                if shape.scheme.code_bits == 8:
                    codes[place * shape.base + lane] = u
                    continue
                codes[place * shape.base + lane // 2] |= (u & 0xF) << (4 * (lane % 2))
                if shape.high_bits:  # 1 or 2 bits a lane: none straddles a byte
                    position = lane * shape.high_bits
                    high[place * shape.high + position // 8] |= (u >> 4) << (position % 8)
    return RowSplitPlanes(bytes(codes), bytes(high), bytes(scales))


def encode_row_split(shape: RowSplit, rows: Sequence[Sequence[Group]]) -> bytes:
    """Base codes, gap, high bits, gap, scales."""
    planes = row_split_planes(shape, rows)
    return _join(planes.codes, planes.high, planes.scales)


def decode_row_split(shape: RowSplit, payload: bytes) -> list[list[Group]]:
    """The logical groups of every row. Raises NotCanonicalError for a wrong size, and set bits in gaps or padding."""
    if len(payload) != shape.bytes:
        raise NotCanonicalError(f"{len(payload)} bytes, not {shape.bytes}")
    places = shape.n * shape.groups
    planes = RowSplitPlanes(
        codes=payload[: places * shape.base],
        high=payload[shape.high_offset :][: places * shape.high],
        scales=payload[shape.scale_offset :],
    )
    logical = decode_row_split_planes(shape, planes)
    if encode_row_split(shape, logical) != payload:
        raise NotCanonicalError("set bits in a gap or in padding")
    return logical


def decode_row_split_planes(shape: RowSplit, planes: RowSplitPlanes) -> list[list[Group]]:
    """The logical groups of every row, whatever padding holds."""
    logical_groups = -(-shape.k // shape.scheme.group)
    return [
        [_group(shape, planes, r * shape.groups + g, shape.k - g * shape.scheme.group) for g in range(logical_groups)]
        for r in range(shape.n)
    ]


def _group(shape: RowSplit, planes: RowSplitPlanes, place: int, lanes_left: int) -> Group:
    """The physical group at a place, cut to its logical lanes."""
    base = planes.codes[place * shape.base : (place + 1) * shape.base]
    high = int.from_bytes(planes.high[place * shape.high : (place + 1) * shape.high], "little")
    codes = []
    for lane in range(min(lanes_left, shape.scheme.group)):
        if shape.scheme.code_bits == 8:
            u = base[lane]
        else:
            low = (base[lane // 2] >> (4 * (lane % 2))) & 0xF
            u = (high >> (lane * shape.high_bits)) % (1 << shape.high_bits) << 4 | low
        codes.append(signed_integer(shape.scheme.code_bits, u))
    return Group(int.from_bytes(planes.scales[2 * place : 2 * place + 2], "little"), tuple(codes))


# blockscale-k16-m128x4-v1


@dataclass(frozen=True, slots=True)
class BlockScaled:
    """Words of an NVFP4 matrix: `codes` [n][k] of 4 bits, `scales` [n][k/16] of 8 bits, and the divisor's word."""

    codes: tuple[tuple[int, ...], ...]
    scales: tuple[tuple[int, ...], ...]
    divisor: int


def scale_place(k: int, row: int, group: int) -> int:
    """Where the scale plane holds the scale word of a row and group."""
    tile = (row // 128) * (k // 64) + group // 4
    return tile * 512 + (row % 32) * 16 + ((row % 128) // 32) * 4 + group % 4


def encode_block_scale(matrix: BlockScaled) -> bytes:
    """Packed codes, gap, swizzled scales, divisor."""
    n, k = len(matrix.codes), len(matrix.codes[0])
    packed = bytes(row[j] | row[j + 1] << 4 for row in matrix.codes for j in range(0, k, 2))
    scales = bytearray(n * k // 16)
    for r, row in enumerate(matrix.scales):
        for g, word in enumerate(row):
            scales[scale_place(k, r, g)] = word
    return _join(packed, bytes(scales)) + matrix.divisor.to_bytes(4, "little")


def decode_block_scale(n: int, k: int, payload: bytes) -> BlockScaled:
    """The words of an [n,k] matrix. Raises NotCanonicalError for a wrong size and for set bits in the gap."""
    size, scale_offset = n * k // 2, up(n * k // 2, 256)
    if len(payload) != payload_bytes("NVFP4", (n, k)) or any(payload[size:scale_offset]):
        raise NotCanonicalError(f"{len(payload)} bytes, or set bits in the gap")
    nibbles = [(byte & 0xF, byte >> 4) for byte in payload[:size]]
    flat = [nibble for pair in nibbles for nibble in pair]
    return BlockScaled(
        codes=tuple(tuple(flat[r * k : (r + 1) * k]) for r in range(n)),
        scales=tuple(tuple(payload[scale_offset + scale_place(k, r, g)] for g in range(k // 16)) for r in range(n)),
        divisor=int.from_bytes(payload[-4:], "little"),
    )


# row-scale-v1


def encode_row_scale(codes: Sequence[Sequence[int]], scales: Sequence[int]) -> bytes:
    """E4M3FN code words [n][k], gap, n BF16 multipliers."""
    return _join(b"".join(bytes(row) for row in codes), b"".join(word.to_bytes(2, "little") for word in scales))


def decode_row_scale(n: int, k: int, payload: bytes) -> tuple[list[list[int]], list[int]]:
    """Code words [n][k] and multipliers. Raises NotCanonicalError for a wrong size and for set bits in the gap."""
    scale_offset = up(n * k, 256)
    if len(payload) != payload_bytes("FP8_E4M3FN_ROW_BF16S", (n, k)) or any(payload[n * k : scale_offset]):
        raise NotCanonicalError(f"{len(payload)} bytes, or set bits in the gap")
    codes = [list(payload[r * k : (r + 1) * k]) for r in range(n)]
    return codes, _little_endian_words(payload[scale_offset:], 2)


def _join(first: bytes, *others: bytes) -> bytes:
    """Planes in order, each but the first starting at a multiple of 256 past the start of the one before it."""
    joined = first
    for plane in others:
        joined = joined.ljust(up(len(joined), 256), b"\0") + plane
    return joined


def _little_endian_words(data: bytes, width: int) -> list[int]:
    if len(data) % width:
        raise NotCanonicalError(f"{len(data)} bytes hold no whole number of {width}-byte words")
    return [int.from_bytes(data[start : start + width], "little") for start in range(0, len(data), width)]
