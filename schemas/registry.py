"""The closed registry: nine numeric formats, four layouts, one resource encoding, two encoder profiles.

Implements the tables of numeric-formats.md (sections 1, 3, 5) and the pairings of storage-layouts.md. Everything is
an enumeration member or a row of a read-only table: there is no constructor that could make a tenth format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar

from schemas.errors import RegistryError


class Format(StrEnum):
    """The nine persistent numeric formats by their canonical names."""

    BF16 = "BF16"
    FP32 = "FP32"
    I32 = "I32"
    Q4G64_F16S = "Q4G64_F16S"
    Q5G64_F16S = "Q5G64_F16S"
    Q6G64_F16S = "Q6G64_F16S"
    W8G32_F16S = "W8G32_F16S"
    NVFP4 = "NVFP4"
    FP8_E4M3FN_ROW_BF16S = "FP8_E4M3FN_ROW_BF16S"


class Layout(StrEnum):
    """The four tensor layouts of storage-layouts.md."""

    CONTIGUOUS = "contiguous-le-v1"
    ROW_SPLIT = "row-split-k128-v1"
    BLOCK_SCALE = "blockscale-k16-m128x4-v1"
    ROW_SCALE = "row-scale-v1"


class ResourceEncoding(StrEnum):
    """The one encoding of resources."""

    RAW_BYTES = "raw-bytes-v1"


class EncoderProfile(StrEnum):
    """The two encoder profiles: numeric-formats.md section 7, and the row FP8 profile of targets.md."""

    MAXABS_F16_RECIP_RNE_V1 = "MAXABS_F16_RECIP_RNE_V1"
    FP8_ROW_MAXABS_RECIP_RNE_V1 = "FP8_ROW_MAXABS_RECIP_RNE_V1"


class WordOrigin(StrEnum):
    """How words come about when no encoder makes them: kept from a direct source, or copied already quantized."""

    PRESERVE = "preserve"
    COPY = "copy"


Encode = EncoderProfile | WordOrigin


@dataclass(frozen=True, slots=True)
class DirectGeometry:
    """One word of `word_bytes` bytes an element."""

    word_bytes: int


@dataclass(frozen=True, slots=True)
class GroupedGeometry:
    """`group` signed codes of `code_bits` bits share one binary16 scale; a group's codes take `base_bytes` bytes in
    the base plane and `high_bytes` in the high plane. Codes lie in [qmin, qmax]."""

    code_bits: int
    group: int
    base_bytes: int
    high_bytes: int
    qmin: int
    qmax: int


@dataclass(frozen=True, slots=True)
class BlockScaledGeometry:
    """`group` E2M1 codes along K share one E4M3FN scale; the matrix has one FP32 divisor. N and K are multiples."""

    group: int
    n_multiple: int
    k_multiple: int


@dataclass(frozen=True, slots=True)
class RowScaledGeometry:
    """One E4M3FN code an element, one BF16 multiplier a row."""

    scale_bytes: int


Geometry = DirectGeometry | GroupedGeometry | BlockScaledGeometry | RowScaledGeometry


@dataclass(frozen=True, slots=True)
class FormatRow:
    """What the registry knows of one format: its single layout, geometry, and how its words may come about."""

    layout: Layout
    geometry: Geometry
    encodes: tuple[Encode, ...]


_MAXABS = (EncoderProfile.MAXABS_F16_RECIP_RNE_V1,)
_PRESERVE = (WordOrigin.PRESERVE,)

FORMATS: Mapping[Format, FormatRow] = MappingProxyType(
    {
        Format.BF16: FormatRow(Layout.CONTIGUOUS, DirectGeometry(2), _PRESERVE),
        Format.FP32: FormatRow(Layout.CONTIGUOUS, DirectGeometry(4), _PRESERVE),
        Format.I32: FormatRow(Layout.CONTIGUOUS, DirectGeometry(4), _PRESERVE),
        Format.Q4G64_F16S: FormatRow(Layout.ROW_SPLIT, GroupedGeometry(4, 64, 32, 0, -8, 7), _MAXABS),
        Format.Q5G64_F16S: FormatRow(Layout.ROW_SPLIT, GroupedGeometry(5, 64, 32, 8, -16, 15), _MAXABS),
        Format.Q6G64_F16S: FormatRow(Layout.ROW_SPLIT, GroupedGeometry(6, 64, 32, 16, -32, 31), _MAXABS),
        Format.W8G32_F16S: FormatRow(Layout.ROW_SPLIT, GroupedGeometry(8, 32, 32, 0, -127, 127), _MAXABS),
        Format.NVFP4: FormatRow(Layout.BLOCK_SCALE, BlockScaledGeometry(16, 128, 64), (WordOrigin.COPY,)),
        Format.FP8_E4M3FN_ROW_BF16S: FormatRow(
            Layout.ROW_SCALE,
            RowScaledGeometry(2),
            (EncoderProfile.FP8_ROW_MAXABS_RECIP_RNE_V1, WordOrigin.COPY),
        ),
    }
)

Name = TypeVar("Name", Format, Layout, ResourceEncoding, EncoderProfile)


def lookup(registry: type[Name], name: str, *, where: str) -> Name:
    """The member of a closed set with exactly this name.

    Raises RegistryError with the list of what exists.
    """
    try:
        return registry(name)
    except ValueError:
        raise RegistryError(where, expected=f"one of {', '.join(registry)}", found=repr(name)) from None


def check_pair(format: Format, layout: Layout, *, where: str) -> None:
    """Raises RegistryError unless `layout` is the layout that stores `format` (storage-layouts.md, first table)."""
    if FORMATS[format].layout is not layout:
        raise RegistryError(where, expected=f"layout {FORMATS[format].layout} for format {format}", found=layout)
