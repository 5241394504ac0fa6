"""The closed registry against the tables of numeric-formats.md (sections 1, 3 and 5) and storage-layouts.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from enum import StrEnum
from fractions import Fraction
from types import new_class

import pytest

from schemas.errors import RegistryError
from schemas.registry import (
    FORMATS,
    BlockScaledGeometry,
    DirectGeometry,
    EncoderProfile,
    Format,
    GroupedGeometry,
    Layout,
    ResourceEncoding,
    RowScaledGeometry,
    WordOrigin,
    check_pair,
    lookup,
)
from tests.oracle import grouped

DIRECT = {"BF16", "FP32", "I32"}
GROUPED = {"Q4G64_F16S", "Q5G64_F16S", "Q6G64_F16S", "W8G32_F16S"}

LAYOUT_OF = {
    **dict.fromkeys(DIRECT, "contiguous-le-v1"),
    **dict.fromkeys(GROUPED, "row-split-k128-v1"),
    "NVFP4": "blockscale-k16-m128x4-v1",
    "FP8_E4M3FN_ROW_BF16S": "row-scale-v1",
}

CLOSED_SETS: dict[type[StrEnum], set[str]] = {
    Format: set(LAYOUT_OF),
    Layout: set(LAYOUT_OF.values()),
    ResourceEncoding: {"raw-bytes-v1"},
    EncoderProfile: {"MAXABS_F16_RECIP_RNE_V1", "FP8_ROW_MAXABS_RECIP_RNE_V1"},
    WordOrigin: {"preserve", "copy"},
}

UNKNOWN: dict[type[StrEnum], tuple[str, ...]] = {
    Format: (
        # named by sections 1, 3.1, 3.2 and 10 as what does not exist
        *("FP16", "FP8_E4M3FN", "I64", "Q4G32_F16S", "Q6G128_F16S", "W8G64_F16S"),
        *("BF16_CTRL", "FP32_CTRL", "I32_CTRL", "INT32", "Q4", "Q5", "Q6", "W8", "W8G32", "FP64", "Q2G64_F16S", "NF4"),
        # spellings of framing 3, and near misses
        *(
            "bf16",
            "fp32",
            "int32",
            "q4_g64_fp16",
            "q8_g32_fp16",
            "nvfp4",
            "BF16 ",
            " BF16",
            "BF16\0",
            "",
            "Format.BF16",
        ),
    ),
    Layout: ("contiguous_le_v1", "block_scale_k16_m128x4_v1", "row-split-k128-v2", "raw-bytes-v1", "ROW-SCALE-V1"),
    ResourceEncoding: ("raw_bytes_v1", "contiguous-le-v1"),
    EncoderProfile: ("MAXABS_F16_RECIP_RNE_V2", "preserve", "copy"),
}

LOOKUPS: dict[type[StrEnum], Callable[[str], StrEnum]] = {
    Format: lambda name: lookup(Format, name, where="objects[3].format"),
    Layout: lambda name: lookup(Layout, name, where="objects[3].layout"),
    ResourceEncoding: lambda name: lookup(ResourceEncoding, name, where="objects[3].encoding"),
    EncoderProfile: lambda name: lookup(EncoderProfile, name, where="objects[3].encode"),
}


@pytest.mark.parametrize(("closed", "names"), CLOSED_SETS.items(), ids=lambda item: getattr(item, "__name__", ""))
def test_closed_set_has_exactly_these_names(closed: type[StrEnum], names: set[str]) -> None:
    assert {str(member) for member in closed} == names
    assert len(closed.__members__) == len(names), "no member has a second spelling"


def test_every_format_has_a_row() -> None:
    assert {str(format) for format in FORMATS} == set(LAYOUT_OF)
    assert {str(format): str(row.layout) for format, row in FORMATS.items()} == LAYOUT_OF


@pytest.mark.parametrize("scheme", grouped.SCHEMES, ids=lambda scheme: scheme.name)
def test_grouped_geometry_is_that_of_sections_1_and_5(scheme: grouped.Scheme) -> None:
    geometry = FORMATS[Format(scheme.name)].geometry
    assert isinstance(geometry, GroupedGeometry)
    assert (geometry.code_bits, geometry.group) == (scheme.code_bits, scheme.group)
    assert (geometry.qmin, geometry.qmax) == (scheme.qmin, scheme.qmax)
    assert 8 * (geometry.base_bytes + geometry.high_bytes) == scheme.code_bits * scheme.group


@pytest.mark.parametrize(
    ("name", "bits_per_weight"), [("Q4G64_F16S", 4.25), ("Q5G64_F16S", 5.25), ("Q6G64_F16S", 6.25), ("W8G32_F16S", 8.5)]
)
def test_grouped_cost_is_that_of_section_1(name: str, bits_per_weight: float) -> None:
    geometry = FORMATS[Format(name)].geometry
    assert isinstance(geometry, GroupedGeometry)
    assert geometry.code_bits + Fraction(16, geometry.group) == bits_per_weight


def test_other_geometries() -> None:
    assert [FORMATS[Format(name)].geometry for name in ("BF16", "FP32", "I32")] == [
        DirectGeometry(2),
        DirectGeometry(4),
        DirectGeometry(4),
    ]
    assert FORMATS[Format.NVFP4].geometry == BlockScaledGeometry(group=16, n_multiple=128, k_multiple=64)
    assert FORMATS[Format.FP8_E4M3FN_ROW_BF16S].geometry == RowScaledGeometry(scale_bytes=2)


@pytest.mark.parametrize("format", Format)
def test_words_come_about_as_the_recipe_language_says(format: Format) -> None:
    expected = {
        **dict.fromkeys(DIRECT, ("preserve",)),
        **dict.fromkeys(GROUPED, ("MAXABS_F16_RECIP_RNE_V1",)),
        "NVFP4": ("copy",),
        "FP8_E4M3FN_ROW_BF16S": ("FP8_ROW_MAXABS_RECIP_RNE_V1", "copy"),
    }
    assert FORMATS[format].encodes == expected[format]


@pytest.mark.parametrize("format", Format)
@pytest.mark.parametrize("layout", Layout)
def test_each_format_pairs_with_one_layout(format: Format, layout: Layout) -> None:
    if LAYOUT_OF[format] == layout:
        check_pair(format, layout, where="object text/a")
        return
    with pytest.raises(RegistryError) as refusal:
        check_pair(format, layout, where="object text/a")
    for part in ("object text/a", str(format), str(layout), LAYOUT_OF[format]):
        assert part in str(refusal.value)


@pytest.mark.parametrize("closed", LOOKUPS, ids=lambda closed: closed.__name__)
def test_lookup_finds_every_member(closed: type[StrEnum]) -> None:
    for name in CLOSED_SETS[closed]:
        assert LOOKUPS[closed](name) is closed(name)


@pytest.mark.parametrize(
    ("closed", "name"),
    [(closed, name) for closed, names in UNKNOWN.items() for name in names],
    ids=lambda item: getattr(item, "__name__", repr(item)),
)
def test_lookup_refuses_what_is_not_there_and_lists_what_is(closed: type[StrEnum], name: str) -> None:
    with pytest.raises(RegistryError) as refusal:
        LOOKUPS[closed](name)
    assert refusal.value.where.startswith("objects[3].")
    assert refusal.value.found == repr(name)
    for known in CLOSED_SETS[closed]:
        assert known in refusal.value.expected


@pytest.mark.parametrize("closed", CLOSED_SETS, ids=lambda closed: closed.__name__)
def test_no_member_can_be_constructed(closed: type[StrEnum]) -> None:
    before = list(closed)
    with pytest.raises(ValueError, match="FP16"):
        closed("FP16")
    with pytest.raises(TypeError, match="extend"):
        new_class("Larger", (closed,))
    with pytest.raises(AttributeError):
        setattr(closed, next(iter(closed.__members__)), "FP16")
    assert list(closed) == before


def test_the_table_of_formats_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        FORMATS[Format.BF16] = FORMATS[Format.FP32]  # type: ignore[index]  # that it has no such operation is the point
    row = FORMATS[Format.Q4G64_F16S]
    with pytest.raises(FrozenInstanceError):
        row.layout = Layout.CONTIGUOUS  # type: ignore[misc]  # a frozen row
    geometry = row.geometry
    assert isinstance(geometry, GroupedGeometry)
    with pytest.raises(FrozenInstanceError):
        geometry.group = 32  # type: ignore[misc]  # a frozen row
