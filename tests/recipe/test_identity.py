"""The canonical form: RFC 8785 of what identifies a recipe, whatever its spelling."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import rfc8785
import yaml

from tests.recipe.documents import EVIDENCE, SHA256, TENSOR, Document, expand, plain, quantized, recipe
from workers.engine.recipe.load import load_recipe
from workers.engine.recipe.registered import load_registered, registered_ids


def canonical(document: Document) -> Any:
    return json.loads(expand(document).canonical)


def test_the_smallest_recipe() -> None:
    expanded = expand(recipe())
    assert expanded.canonical == (
        b'{"id":"tiny.plain","model_id":"tiny","objects":[{"encode":"preserve","format":"BF16",'
        b'"layout":"contiguous-le-v1","name":"a","nonfinite":"reject","shape":[4],'
        b'"value":{"source":"base","tensor":"w"}}],"recipe":1,"resources":[],"revision":1,'
        b'"sources":{"base":{"kind":"checkpoint","quantization":"none"}},"weights_id":"plain"}'
    )
    assert expanded.sha256 == hashlib.sha256(expanded.canonical).hexdigest()


FULL: Document = recipe(
    title="not in it",
    evidence=EVIDENCE,
    let={"H": 4, "full": [0, 1]},
    values={"v": {"tensor": "{t}"}},
    templates={"t": []},
    sources={
        "base": {
            "kind": "checkpoint",
            "origin": "hf:a/b@c",
            "quantization": "modelopt",
            "config": {"é\U0001f600": 1e-6, "\ufb33": 1e21, "b": [0.1, -0.0, 100, 1.0, True, None, 'q"\\\n\x7f']},
            "unused": ["x.*"],
        },
        "file": {"kind": "file", "sha256": SHA256},
    },
    resources=[
        {"name": "r", "source": "base", "file": "config.json"},
        {"name": "s", "source": "file", "sha256": SHA256, "repair": []},
    ],
    objects=[
        plain(name='"\\\n\t\x01é\u2028\U0001f600', value={"value": "v", "with": {"t": "x"}}, nonfinite="allow"),
        quantized(name="q", equals=[TENSOR]),
        plain(name="s0", format="FP32", shape=[], require="positive", value={"reciprocal": TENSOR, "by": "nearest"}),
        plain(name="i", format="I32", require="positive", value={"cast": TENSOR, "to": "I32", "by": "checked"}),
        plain(
            name="d",
            format="I32",
            value={"draft_ids": {"counts": "file", "width": 9, "domain": 8, "take": 4, "special": "r"}},
        ),
        plain(name="g", value={"gather": {"transpose": TENSOR, "axes": [1, 0]}, "rows": "i"}),
        plain(
            name="c",
            value={"concat": {"for": "e", "in": "full", "each": [{"tensor": "{e}"}]}, "axis": 0},
            equals=[{"same": [{"slice": {"reshape": TENSOR, "to": ["=H", 2]}, "axis": 0, "from": 0, "to": "=H-1"}]}],
        ),
        plain(
            name="n",
            format="NVFP4",
            shape=[128, 64],
            encode="copy",
            value={"nvfp4": {"codes": TENSOR, "scales": TENSOR, "multipliers": [TENSOR]}},
        ),
        plain(
            name="m",
            format="NVFP4",
            shape=[128, 64],
            encode="copy",
            value={"nvfp4": {"codes": TENSOR, "scales": TENSOR, "divisors": [TENSOR]}},
        ),
        plain(
            name="f",
            format="FP8_E4M3FN_ROW_BF16S",
            encode="copy",
            shape=[2, 2],
            value={"fp8_row": {"codes": TENSOR, "scales": TENSOR}},
        ),
    ],
)
"""Every member and operator that the canonical form can hold, and texts that are hard to spell."""

T = {"tensor": "w", "source": "base"}


def test_every_member_and_operator() -> None:
    form = canonical(FULL)
    assert set(form) == {
        "recipe",
        "id",
        "revision",
        "model_id",
        "weights_id",
        "sources",
        "resources",
        "objects",
    }
    assert form["sources"]["file"] == {"kind": "file", "sha256": SHA256}
    assert set(form["sources"]["base"]) == {"kind", "origin", "quantization", "config"}
    assert form["resources"] == [
        {"name": "r", "source": "base", "file": "config.json"},
        {"name": "s", "source": "file", "sha256": SHA256},
    ]
    objects = {item["name"]: item for item in form["objects"]}
    assert set(objects["q"]) == {"name", "shape", "format", "layout", "encode", "value", "equals"}
    assert set(objects["s0"]) == {"name", "shape", "format", "layout", "encode", "nonfinite", "require", "value"}
    assert objects["s0"]["value"] == {"reciprocal": T, "by": "nearest"}
    assert objects["i"]["value"] == {"cast": T, "to": "I32", "by": "checked"}
    assert objects["d"]["value"] == {
        "draft_ids": {"counts": "file", "width": 9, "domain": 8, "take": 4, "special": "r"}
    }
    assert objects["g"]["value"] == {"gather": {"transpose": T, "axes": [1, 0]}, "rows": "i"}
    parts = [{"tensor": "0", "source": "base"}, {"tensor": "1", "source": "base"}]
    assert objects["c"]["value"] == {"concat": parts, "axis": 0}
    assert objects["c"]["equals"] == [
        {"same": [{"slice": {"reshape": T, "to": [4, 2]}, "axis": 0, "from": 0, "to": 3}]}
    ]
    assert objects["n"]["value"] == {"nvfp4": {"codes": T, "scales": T, "multipliers": [T], "reciprocal": "exact"}}
    assert objects["m"]["value"] == {"nvfp4": {"codes": T, "scales": T, "divisors": [T]}}
    assert objects["f"]["value"] == {"fp8_row": {"codes": T, "scales": T}}


@pytest.mark.parametrize("id", ["full", *registered_ids()])
def test_it_is_rfc_8785(id: str) -> None:
    form = (expand(FULL) if id == "full" else load_registered(id)).canonical
    assert rfc8785.dumps(json.loads(form)) == form


def same(first: Document, second: Document) -> bool:
    return expand(first).sha256 == expand(second).sha256


LAYERS = [plain(name=f"layers/{i}", value={"tensor": f"model.layers.{i}.w"}) for i in (1, 4, 7)]


@pytest.mark.parametrize(
    "other",
    [
        recipe(objects=LAYERS, title="t", evidence=EVIDENCE, target=None, architecture=None),
        recipe(objects=LAYERS, let={"a": 1}, values={"v": TENSOR}, templates={"t": [{"use": "u"}], "u": []}),
        recipe(objects=LAYERS, sources={"base": {"kind": "checkpoint", "unused": ["*"], "quantization": "none"}}),
        recipe(
            objects=[
                {"for": "l", "in": {"from": 1, "to": 8, "step": 3}, "with": {"n": "layers"}, "objects": [
                    plain(name="{n}/{l}", shape=["=2+2"], layout="contiguous-le-v1", nonfinite="reject", equals=[],
                          encode="preserve", value={"tensor": "model.{n}.{l}.w", "source": "base"})
                ]}
            ],
        ),
        recipe(
            let={"set": [0, 1, 2]},
            values={"w": {"tensor": "{p}.{k}.w"}},
            templates={"one": [plain(name="layers/{k}", value={"value": "w", "with": {"p": "model.layers"}})]},
            objects=[
                {"for": "l", "in": "set", "objects": [{"for": "k", "in": ["=3*l+1"], "objects": [{"use": "one"}]}]}
            ],
        ),
    ],
)  # fmt: skip
def test_what_is_said_in_other_words_is_the_same_recipe(other: Document) -> None:
    assert same(recipe(objects=LAYERS), other)


@pytest.mark.parametrize(
    "members",
    [
        {"id": "tiny.other"},
        {"revision": 2},
        {"model_id": "small"},
        {"weights_id": "other"},
        {"sources": {"base": {"kind": "checkpoint", "origin": "hf:a/b@c"}}},
        {"sources": {"base": {"kind": "checkpoint", "quantization": "modelopt"}}},
        {"sources": {"base": {"kind": "checkpoint", "config": {}}}},
        {"resources": [{"name": "r", "source": "base", "file": "f"}]},
        {"objects": [plain(nonfinite="allow")]},
        {"objects": [plain(equals=[TENSOR])]},
        {"objects": [plain(value={"tensor": "v"})]},
        {"objects": [plain(), plain(name="b")]},
    ],
)
def test_what_means_something_else_is_another_recipe(members: Document) -> None:
    assert not same(recipe(), recipe(**members))


def test_the_order_of_objects_counts_and_that_of_members_does_not() -> None:
    assert not same(recipe(objects=LAYERS), recipe(objects=LAYERS[::-1]))
    assert same(recipe(objects=LAYERS), dict(reversed(recipe(objects=LAYERS).items())))


@pytest.mark.parametrize("spelling", ["1e-6", "0.000001", "1E-06", "10e-7", "1.0e-6"])
def test_numbers_are_the_same_by_value(spelling: str) -> None:
    text = json.dumps(recipe(sources={"base": {"kind": "checkpoint", "config": {"eps": "EPS"}}}))
    expanded = load_recipe(text.replace('"EPS"', spelling), where="test")
    assert b'"config":{"eps":0.000001}' in expanded.canonical


class _NoAliases(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 (the library's signature)
        return True


def test_json_and_yaml_are_the_same_recipe() -> None:
    texts = [
        json.dumps(FULL),
        json.dumps(FULL, indent=2, ensure_ascii=False),
        yaml.dump(FULL, Dumper=_NoAliases, allow_unicode=True),
        yaml.dump(FULL, Dumper=_NoAliases, default_flow_style=True),
    ]
    assert {load_recipe(text, where="test").sha256 for text in texts} == {expand(FULL).sha256}
