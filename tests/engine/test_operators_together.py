"""Operators in company: casts under selections, row lists made by gathers, reciprocals in reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engine.conversions import Tensors, converted, one_object

NAN = np.float32(np.nan)


def with_a_nan() -> Tensors:
    """[40, 64] F32, one NaN at [5, 40]."""
    words = np.arange(40 * 64, dtype="<f4").reshape(40, 64)
    words[5, 40] = NAN
    return {"a": ("F32", (40, 64), words.tobytes()), "b": ("BF16", (40, 2), np.ones((40, 2), "<u2").tobytes())}


ROUNDED: dict[str, Any] = {"cast": {"tensor": "a"}, "to": "BF16", "by": "rne"}
OTHER: dict[str, Any] = {"tensor": "b"}


def columns(value: dict[str, Any], start: int, stop: int) -> dict[str, Any]:
    return {"slice": value, "axis": 1, "from": start, "to": stop}


SELECTIONS: dict[str, tuple[dict[str, Any], list[int]]] = {
    "slice": (columns(ROUNDED, 0, 8), [40, 8]),
    "gather": ({"gather": ROUNDED, "rows": "ids"}, [4, 64]),
    "transpose": ({"slice": {"transpose": ROUNDED, "axes": [1, 0]}, "axis": 0, "from": 0, "to": 8}, [8, 40]),
    "concat": (columns({"concat": [ROUNDED, OTHER], "axis": 1}, 60, 66), [40, 6]),
    "turned concat": (
        {
            "slice": {"transpose": {"concat": [ROUNDED, OTHER], "axis": 1}, "axes": [1, 0]},
            "axis": 0,
            "from": 60,
            "to": 66,
        },
        [6, 40],
    ),
}


@pytest.mark.parametrize(("value", "shape"), SELECTIONS.values(), ids=SELECTIONS.keys())
@pytest.mark.parametrize("block_bytes", [2, 16, 128, 4 << 20])
def test_a_cast_sees_only_what_is_selected(
    value: dict[str, Any], shape: list[int], block_bytes: int, tmp_path: Path
) -> None:
    tensors = dict(with_a_nan())
    tensors["rows"] = ("I32", (4,), np.array([39, 0, 7, 7], "<i4").tobytes())
    objects = [
        {**one_object("BF16", tuple(shape), "preserve", value), "name": "selected"},
        {**one_object("I32", (4,), "preserve", {"tensor": "rows"}), "name": "ids"},
        {**one_object("BF16", (40, 2), "preserve", OTHER), "name": "other"},
    ]
    sources = {"base": {"kind": "checkpoint", "unused": ["*"]}}
    made = converted(tmp_path, tensors, objects, block_bytes=block_bytes, sources=sources)
    words = np.frombuffer(with_a_nan()["a"][2], "<u4").reshape(40, 64)
    rounded = ((words + 0x7FFF + (words >> 16 & 1)) >> 16).astype("<u2")
    joined = np.concatenate([rounded, np.ones((40, 2), "<u2")], axis=1)
    expected = {
        (40, 8): rounded[:, :8],
        (4, 64): rounded[[39, 0, 7, 7]],
        (8, 40): rounded.T[:8],
        (40, 6): joined[:, 60:],
        (6, 40): joined.T[60:],
    }[shape[0], shape[1]]
    assert made.payload() == np.ascontiguousarray(expected).tobytes()


def chained(length: int, gathers: int) -> list[dict[str, Any]]:
    """I32 objects of which each gathers, several times over, by the rows of the one before."""
    objects = [{"name": "g0", "shape": [4], "format": "I32", "value": {"tensor": "ids"}}]
    for i in range(1, length):
        value: dict[str, Any] = {"tensor": "ids"}
        for _ in range(gathers):
            value = {"gather": value, "rows": f"g{i - 1}"}
        objects.append({"name": f"g{i}", "shape": [4], "format": "I32", "value": value})
    return objects


@pytest.mark.parametrize(("length", "gathers"), [(3, 1), (400, 1), (6, 15)])
def test_row_lists_that_are_gathered_by_row_lists(length: int, gathers: int, tmp_path: Path) -> None:
    ids = np.array([1, 2, 3, 0], "<i4")
    made = converted(tmp_path, {"ids": ("I32", (4,), ids.tobytes())}, chained(length, gathers))
    rows = ids
    for i in range(1, length):
        value = ids
        for _ in range(gathers):
            value = value[rows]
        rows = value
        assert made.payload(i) == rows.tobytes()


def test_a_reciprocal_is_recorded_with_its_true_error(tmp_path: Path) -> None:
    value = {"reciprocal": {"tensor": "m"}, "by": "nearest"}
    made = converted(tmp_path, {"m": ("F32", (), np.float32(3).tobytes())}, [one_object("FP32", (), "preserve", value)])
    [found] = made.report.objects[0].reciprocals
    assert (found.multiplier, found.divisor) == (3.0, float(np.float32(1 / 3)))
    error = made.report.objects[0].error
    assert error is not None
    assert error.max_abs == abs(float(np.float32(1 / 3)) - 1 / 3)


def test_words_that_are_no_numbers_have_no_error_to_measure(tmp_path: Path) -> None:
    tensors = {"a": ("F32", (1,), np.float32(1).tobytes()), "b": ("BF16", (1,), b"\x80\x7f")}
    value = {"concat": [ROUNDED, OTHER], "axis": 0}
    made = converted(tmp_path, tensors, [one_object("BF16", (2,), "preserve", value, nonfinite="allow")])
    error = made.report.objects[0].error
    assert error is not None
    assert (error.max_abs, error.rms, error.snr_db) == (0.0, 0.0, None)
    assert "NaN" not in made.report.model_dump_json()
