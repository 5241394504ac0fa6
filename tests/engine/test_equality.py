"""`same` and `equals`: values that must agree word for word, all over, or the conversion fails where they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schemas.errors import WordError
from tests.engine.conversions import Tensors, converted, one_object

A, B = {"tensor": "a"}, {"tensor": "b"}


def pair(at: tuple[int, int] | None) -> Tensors:
    """Two [6, 40] BF16 tensors that differ in one place, or nowhere."""
    words = np.arange(240, dtype="<u2").reshape(6, 40)
    other = words.copy()
    if at is not None:
        other[at] ^= 1
    return {"a": ("BF16", (6, 40), words.tobytes()), "b": ("BF16", (6, 40), other.tobytes())}


def same() -> dict[str, Any]:
    return one_object("BF16", (6, 40), "preserve", {"same": [A, B]})


def equals() -> dict[str, Any]:
    return one_object("BF16", (6, 40), "preserve", A, equals=[B])


def sliced_same() -> dict[str, Any]:
    return one_object("BF16", (1, 40), "preserve", {"slice": {"same": [A, B]}, "axis": 0, "from": 0, "to": 1})


@pytest.mark.parametrize("made", [same(), equals(), sliced_same()], ids=["same", "equals", "sliced"])
@pytest.mark.parametrize("block_bytes", [1, 4 << 20])
def test_equal_values_pass_and_count_as_used(made: dict[str, Any], block_bytes: int, tmp_path: Path) -> None:
    one = converted(tmp_path, pair(None), [made], block_bytes=block_bytes)
    assert {source.tensor for source in one.report.objects[0].sources} == {"a", "b"}
    assert one.payload() == pair(None)["a"][2][: len(one.payload())]


@pytest.mark.parametrize("made", [same(), equals(), sliced_same()], ids=["same", "equals", "sliced"])
@pytest.mark.parametrize("at", [(0, 0), (3, 17), (5, 39)])
@pytest.mark.parametrize("block_bytes", [1, 4 << 20])
def test_one_differing_word_fails(made: dict[str, Any], at: tuple[int, int], block_bytes: int, tmp_path: Path) -> None:
    place = rf"base:a\[{at[0]}, {at[1]}\].*base:b\[{at[0]}, {at[1]}\]"
    with pytest.raises(WordError, match=place):
        converted(tmp_path, pair(at), [made], block_bytes=block_bytes)


def nvfp4_pair(codes: int = 0, scales: int = 0, divisor: int = 0x40000000) -> Tensors:
    """Two NVFP4 matrices [128, 64], the second with one code byte, one scale or its divisor changed."""
    other_codes, other_scales = np.zeros((128, 32), np.uint8), np.full((128, 4), 0x38, np.uint8)
    other_codes[5, 7], other_scales[5, 3] = codes, 0x38 ^ scales
    return {
        "ac": ("U8", (128, 32), bytes(128 * 32)),
        "as": ("F8_E4M3", (128, 4), bytes([0x38]) * 512),
        "ad": ("F32", (), (0x40000000).to_bytes(4, "little")),
        "bc": ("U8", (128, 32), other_codes.tobytes()),
        "bs": ("F8_E4M3", (128, 4), other_scales.tobytes()),
        "bd": ("F32", (1,), divisor.to_bytes(4, "little")),
    }


def nvfp4_equals() -> dict[str, Any]:
    def value(name: str) -> dict[str, Any]:
        parts = {"codes": {"tensor": f"{name}c"}, "scales": {"tensor": f"{name}s"}}
        return {"nvfp4": {**parts, "divisors": [{"tensor": f"{name}d"}]}}

    return one_object("NVFP4", (128, 64), "copy", value("a"), equals=[value("b")])


def test_equal_quantized_values_pass(tmp_path: Path) -> None:
    converted(tmp_path, nvfp4_pair(), [nvfp4_equals()])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"codes": 1}, r"base:ac\[5, 7\].*base:bc\[5, 7\]"),
        ({"scales": 1}, r"base:as\[5, 3\].*base:bs\[5, 3\]"),
        ({"divisor": 0x40000001}, r"base:ad.*divisor of.*base:bd.*0x40000001, found 0x40000000"),
    ],
)
def test_quantized_values_are_compared_by_codes_scales_and_divisors(
    changed: dict[str, int], message: str, tmp_path: Path
) -> None:
    with pytest.raises(WordError, match=message):
        converted(tmp_path, nvfp4_pair(**changed), [nvfp4_equals()])
