"""Sizes, planes and row addresses of the four layouts against the oracle and the values that the documents publish."""

from __future__ import annotations

from itertools import pairwise

import pytest

from schemas.errors import RegistryError
from schemas.registry import Format, Layout, ResourceEncoding
from schemas.storage_layouts import ALIGNMENT, PLANE_ALIGNMENT, SCALE_TILE_ROWS, Payload, PlaneName, payload
from tests.oracle import storage_layouts as oracle
from tests.oracle.fp8_row import code_is_valid
from tests.oracle.grouped import SCHEMES, Group, Scheme, groups_of

U64_MAX = 2**64 - 1

WIDTHS = [*range(1, 258), 1152, 4304, 5120, 17408]
HEIGHTS = [1, 2, 3, 7, 129, 248320]

PUBLISHED = [
    (Format.Q5G64_F16S, (2, 130), 528),
    (Format.Q4G64_F16S, (7168, 5120), 19_496_960),
    (Format.Q5G64_F16S, (7168, 5120), 24_084_480),
    (Format.FP8_E4M3FN_ROW_BF16S, (14336, 5120), 73_428_992),
    (Format.NVFP4, (14336, 5120), 41_287_684),
    (Format.NVFP4, (128, 64), 4612),
    (Format.NVFP4, (256, 320), 46_084),
    (Format.FP8_E4M3FN_ROW_BF16S, (1, 3), 258),
    (Format.FP8_E4M3FN_ROW_BF16S, (17, 130), 2338),
    (Format.BF16, (3, 2), 12),
    (Format.FP32, (), 4),
]


def planes_of(payload: Payload) -> dict[str, tuple[int, int]]:
    return {str(plane.name): (plane.offset, plane.bytes) for plane in payload.planes}


@pytest.mark.parametrize(("format", "shape", "size"), PUBLISHED)
def test_published_sizes(format: Format, shape: tuple[int, ...], size: int) -> None:
    assert payload(format, shape, where="here").bytes == size == oracle.payload_bytes(format, shape)


def test_published_planes_of_q5() -> None:
    q5 = payload(Format.Q5G64_F16S, (2, 130), where="here")
    assert planes_of(q5) == {"codes": (0, 256), "high": (256, 64), "scales": (512, 16)}
    assert [plane.offset + plane.row_bytes for plane in q5.planes] == [128, 288, 520]


def test_published_planes_of_nvfp4() -> None:
    nvfp4 = payload(Format.NVFP4, (128, 64), where="here")
    assert planes_of(nvfp4) == {"codes": (0, 4096), "scales": (4096, 512), "divisor": (4608, 4)}


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("n", HEIGHTS)
def test_row_split_planes_equal_the_oracle(scheme: Scheme, n: int) -> None:
    for k in WIDTHS:
        expected = oracle.RowSplit(scheme, n, k)
        actual = payload(Format(scheme.name), (n, k), where="here")
        places = n * expected.groups
        planes = {"codes": (0, places * expected.base)}
        if expected.high:
            planes["high"] = (expected.high_offset, places * expected.high)
        planes["scales"] = (expected.scale_offset, places * 2)
        assert planes_of(actual) == planes, f"[{n},{k}]"
        assert actual.bytes == expected.bytes


@pytest.mark.parametrize("n", HEIGHTS)
def test_row_scale_sizes_equal_the_oracle(n: int) -> None:
    for k in WIDTHS:
        actual = payload(Format.FP8_E4M3FN_ROW_BF16S, (n, k), where="here")
        assert actual.bytes == oracle.payload_bytes("FP8_E4M3FN_ROW_BF16S", (n, k)), f"[{n},{k}]"
        assert planes_of(actual) == {"codes": (0, n * k), "scales": (oracle.up(n * k, 256), 2 * n)}


@pytest.mark.parametrize("n", [128, 256, 14336])
@pytest.mark.parametrize("k", [64, 128, 320, 5120])
def test_block_scale_sizes_equal_the_oracle(n: int, k: int) -> None:
    actual = payload(Format.NVFP4, (n, k), where="here")
    assert actual.bytes == oracle.payload_bytes("NVFP4", (n, k))
    scale_offset = oracle.up(n * k // 2, 256)
    assert planes_of(actual) == {
        "codes": (0, n * k // 2),
        "scales": (scale_offset, n * k // 16),
        "divisor": (actual.bytes - 4, 4),
    }


@pytest.mark.parametrize("format", [Format.BF16, Format.FP32, Format.I32])
@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 5), (4, 3, 2), (1,) * 16, (2,) * 16])
def test_contiguous_sizes_equal_the_oracle(format: Format, shape: tuple[int, ...]) -> None:
    actual = payload(format, shape, where="here")
    assert planes_of(actual) == {"words": (0, oracle.payload_bytes(format, shape))}


def test_alignments() -> None:
    assert set(ALIGNMENT) == {*Layout, *ResourceEncoding}
    assert {ALIGNMENT[layout] for layout in Layout} == {256}
    assert ALIGNMENT[ResourceEncoding.RAW_BYTES] == 1


@pytest.mark.parametrize("format", Format)
def test_planes_ascend_aligned_without_overlap(format: Format) -> None:
    shape = (128, 192)
    actual = payload(format, shape, where="here")
    for before, after in pairwise(actual.planes):
        gap = after.offset - before.end
        assert 0 <= gap < PLANE_ALIGNMENT
        assert after.offset % PLANE_ALIGNMENT == 0 or (after.name is PlaneName.DIVISOR and gap == 0)
    assert actual.plane(actual.planes[0].name) is actual.planes[0]
    with pytest.raises(KeyError):
        actual.plane(PlaneName.CODES if actual.planes[0].name is PlaneName.WORDS else PlaneName.WORDS)


def gathered(source: bytes, before: Payload, after: Payload, rows: list[int]) -> bytes:
    """Rows of a payload as a payload of their own, by copying the spans that the row addresses name."""
    result = bytearray(after.bytes)
    for from_plane, to_plane in zip(before.planes, after.planes, strict=True):
        width = from_plane.row_bytes
        for place, row in enumerate(rows):
            start, target = from_plane.offset + row * width, to_plane.offset + place * width
            result[target : target + width] = source[start : start + width]
    return bytes(result)


def scattered(index: int, low: int, high: int) -> int:
    """Some integer of [low, high], another for each index."""
    return low + (index * 0x9E3779B97F4A7C15 >> 32) % (high - low + 1)


ROW_CHOICES = [[0], [6], [2, 3, 4], [6, 0, 3, 3], list(range(7))]


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("k", [1, 64, 130, 257])
@pytest.mark.parametrize("rows", ROW_CHOICES, ids=str)
def test_row_spans_of_row_split_gather(scheme: Scheme, k: int, rows: list[int]) -> None:
    rows_of_codes = [[scattered(r * k + j, scheme.qmin, scheme.qmax) for j in range(k)] for r in range(7)]
    matrix = [
        [Group(scattered(r * k + g, 1, 0x7BFF), tuple(codes)) for g, codes in enumerate(groups_of(scheme, row))]
        for r, row in enumerate(rows_of_codes)
    ]
    before, after = (payload(Format(scheme.name), (n, k), where="here") for n in (7, len(rows)))
    whole = oracle.encode_row_split(oracle.RowSplit(scheme, 7, k), matrix)
    part = gathered(whole, before, after, rows)
    shape = oracle.RowSplit(scheme, len(rows), k)
    assert part == oracle.encode_row_split(shape, [matrix[row] for row in rows])
    assert oracle.decode_row_split(shape, part) == [matrix[row] for row in rows]


@pytest.mark.parametrize("k", [1, 130])
@pytest.mark.parametrize("rows", ROW_CHOICES, ids=str)
def test_row_spans_of_row_scale_gather(k: int, rows: list[int]) -> None:
    valid = [code for code in range(256) if code_is_valid(code)]
    codes = [[valid[scattered(row * k + j, 0, len(valid) - 1)] for j in range(k)] for row in range(7)]
    scales = [scattered(row, 1, 0x7F7F) for row in range(7)]
    before, after = (payload(Format.FP8_E4M3FN_ROW_BF16S, (n, k), where="here") for n in (7, len(rows)))
    part = gathered(oracle.encode_row_scale(codes, scales), before, after, rows)
    assert part == oracle.encode_row_scale([codes[row] for row in rows], [scales[row] for row in rows])


@pytest.mark.parametrize("shape", [(7,), (7, 3), (7, 2, 5)])
def test_row_spans_of_contiguous_gather(shape: tuple[int, ...]) -> None:
    rows = [6, 0, 3, 3]
    before = payload(Format.I32, shape, where="here")
    after = payload(Format.I32, (len(rows), *shape[1:]), where="here")
    words = list(range(before.bytes // 4))
    width = len(words) // 7
    part = gathered(oracle.encode_contiguous("I32", words), before, after, rows)
    assert oracle.decode_contiguous("I32", part) == [words[row * width + j] for row in rows for j in range(width)]


@pytest.mark.parametrize("k", [64, 320])
def test_scale_tiles_of_nvfp4_keep_their_rows_together(k: int) -> None:
    per_tile = SCALE_TILE_ROWS * k // 16
    for tile in range(3):
        rows = range(tile * SCALE_TILE_ROWS, (tile + 1) * SCALE_TILE_ROWS)
        places = {oracle.scale_place(k, row, group) for row in rows for group in range(k // 16)}
        assert places == set(range(tile * per_tile, (tile + 1) * per_tile))


QUANTIZED = [format for format in Format if format not in (Format.BF16, Format.FP32, Format.I32)]


@pytest.mark.parametrize("format", QUANTIZED)
@pytest.mark.parametrize("shape", [(), (128,), (128, 128, 128)], ids=str)
def test_quantized_formats_are_rank_two(format: Format, shape: tuple[int, ...]) -> None:
    with pytest.raises(RegistryError, match="rank 2") as refusal:
        payload(format, shape, where="object text/a")
    for part in ("object text/a", str(format), str(list(shape))):
        assert part in str(refusal.value)


@pytest.mark.parametrize("format", Format)
@pytest.mark.parametrize("shape", [(0, 128), (128, 0), (-128, 128), (128, -64)], ids=str)
def test_extents_are_positive(format: Format, shape: tuple[int, ...]) -> None:
    with pytest.raises(RegistryError, match="positive extents") as refusal:
        payload(format, shape, where="object text/a")
    assert str(list(shape)) in refusal.value.found


@pytest.mark.parametrize("shape", [(127, 64), (129, 64), (64, 64), (128, 63), (128, 96), (128, 16), (1, 1)], ids=str)
def test_nvfp4_takes_whole_tiles_only(shape: tuple[int, ...]) -> None:
    with pytest.raises(RegistryError, match="multiple of 128") as refusal:
        payload(Format.NVFP4, shape, where="here")
    assert "64" in refusal.value.expected
    assert str(list(shape)) in refusal.value.found


@pytest.mark.parametrize("format", [Format.BF16, Format.FP32, Format.I32])
def test_rank_is_at_most_16(format: Format) -> None:
    with pytest.raises(RegistryError, match="rank 0 to 16") as refusal:
        payload(format, (1,) * 17, where="here")
    assert "17" in refusal.value.found


LARGEST = [
    (Format.BF16, (2**63 - 1,), (2**63,)),
    (Format.FP32, (2**62 - 1,), (2**31, 2**31)),
    (Format.I32, (3, 6148914691236517205 // 4), (2**62,)),
    (Format.FP8_E4M3FN_ROW_BF16S, (1, U64_MAX - 257), (1, U64_MAX - 254)),
    (Format.FP8_E4M3FN_ROW_BF16S, (2**32, 2**32 - 3), (2**32, 2**32 - 2)),
    (Format.Q4G64_F16S, (2**32, 2**32), (2**33, 2**32)),
    (Format.W8G32_F16S, (2**31, 2**32), (2**32, 2**32)),
    (Format.NVFP4, (2**32, 2**32), (2**33, 2**32)),
]


@pytest.mark.parametrize(("format", "fits", "too_large"), LARGEST)
def test_sizes_end_at_unsigned_64_bits(format: Format, fits: tuple[int, ...], too_large: tuple[int, ...]) -> None:
    assert payload(format, fits, where="here").bytes == oracle.payload_bytes(format, fits) <= U64_MAX
    with pytest.raises(RegistryError, match=str(U64_MAX)) as refusal:
        payload(format, too_large, where="object text/a")
    assert oracle.payload_bytes(format, too_large) > U64_MAX
    assert str(oracle.payload_bytes(format, too_large)) in refusal.value.found
    assert str(list(too_large)) in refusal.value.found
