"""Expressions in one line."""

from __future__ import annotations

import pytest

from tests.recipe.documents import TENSOR, Document, plain, recipe, value_of
from workers.engine.recipe.describe import render
from workers.engine.recipe.load import expand_document

V = {"tensor": "v"}


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (TENSOR, "base:w"),
        ({"slice": TENSOR, "axis": 0, "from": 2, "to": 4}, "slice(base:w; axis 0, 2:4)"),
        ({"reshape": TENSOR, "to": []}, "reshape(base:w; [])"),
        (
            {"transpose": {"reshape": TENSOR, "to": [2, 3]}, "axes": [1, 0]},
            "transpose(reshape(base:w; [2, 3]); [1, 0])",
        ),
        ({"concat": [TENSOR, V], "axis": 1}, "concat(base:w, base:v; axis 1)"),
        ({"same": [TENSOR, V]}, "same(base:w, base:v)"),
        ({"cast": TENSOR, "to": "FP32", "by": "exact"}, "cast(base:w; FP32 by exact)"),
        ({"reciprocal": TENSOR, "by": "exact"}, "reciprocal(base:w; exact)"),
    ],
)
def test_plain_values(value: Document, line: str) -> None:
    assert render(value_of(value)) == line


@pytest.mark.parametrize(
    ("value", "members", "line"),
    [
        ({"gather": TENSOR, "rows": "ids"}, {}, "gather(base:w, rows of ids)"),
        (
            {"nvfp4": {"codes": TENSOR, "scales": V, "divisors": [V, TENSOR]}},
            {"format": "NVFP4", "encode": "copy", "shape": [128, 64]},
            "nvfp4(codes base:w; scales base:v; divisors base:v, base:w)",
        ),
        (
            {"nvfp4": {"codes": TENSOR, "scales": V, "multipliers": [V]}},
            {"format": "NVFP4", "encode": "copy", "shape": [128, 64]},
            "nvfp4(codes base:w; scales base:v; multipliers base:v, reciprocal exact)",
        ),
        (
            {"fp8_row": {"codes": TENSOR, "scales": V}},
            {"format": "FP8_E4M3FN_ROW_BF16S", "encode": "copy", "shape": [2, 2]},
            "fp8_row(codes base:w; scales base:v)",
        ),
        (
            {"draft_ids": {"counts": "ranking", "width": 10, "domain": 9, "take": 4, "special": "config"}},
            {"format": "I32"},
            "draft_ids(4 of 9 by ranking, width 10; special of config)",
        ),
    ],
)
def test_values_of_other_objects(value: Document, members: Document, line: str) -> None:
    document = recipe(
        sources={"base": {"kind": "checkpoint"}, "ranking": {"kind": "file"}},
        resources=[{"name": "config", "source": "base", "file": "tokenizer_config.json"}],
        objects=[plain(value=value, **members), plain(name="ids", format="I32")],
    )
    assert render(expand_document(document, where="test").objects[0].value) == line
