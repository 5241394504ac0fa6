"""What recipes expand to: let, values, text, loops, templates, conditions, defaults."""

from __future__ import annotations

import pytest

from schemas.recipe.expanded import (
    Cast,
    CastRule,
    Concat,
    DivisorConvention,
    DraftIds,
    Fp8Row,
    Gather,
    Nonfinite,
    Nvfp4,
    Quantization,
    Reciprocal,
    ReciprocalRule,
    Require,
    Reshape,
    Same,
    Slice,
    SourceKind,
    Tensor,
    Transpose,
)
from schemas.registry import EncoderProfile, Format, Layout, WordOrigin
from tests.recipe.documents import (
    EVIDENCE,
    SHA256,
    TENSOR,
    Document,
    expand,
    faults_of,
    names_of,
    objects_of,
    of_value,
    plain,
    quantized,
    recipe,
    value_of,
)

W = Tensor("w", "base")


def test_defaults_are_filled_in() -> None:
    expanded = expand(recipe())
    [spec] = expanded.objects
    assert (spec.layout, spec.encode, spec.nonfinite) == (Layout.CONTIGUOUS, WordOrigin.PRESERVE, Nonfinite.REJECT)
    assert (spec.require, spec.equals, spec.value, spec.at) == (None, (), W, "/objects/0")
    assert expanded.sources["base"].quantization is Quantization.NONE
    assert expanded.sources["base"].kind is SourceKind.CHECKPOINT
    assert (expanded.title, expanded.target, expanded.architecture) == (None, None, None)
    assert not expanded.let_overridden


def test_everything_that_is_written_is_kept() -> None:
    document = recipe(
        title="A {{title}} of {n}",
        let={"n": 3},
        target=None,
        architecture=None,
        sources={
            "base": {
                "kind": "checkpoint",
                "origin": "hf:org/model@{n}",
                "quantization": "modelopt",
                "config": {"a": {"b": [1, 2.5, None, True, "x{n}", "=2*n"]}},
                "unused": ["model.visual.*", "mtp.{n}.*"],
            },
            "counts": {"kind": "file", "origin": "https://example.org/x", "sha256": SHA256},
        },
        evidence=[{"claim": "as {n}", "url": "https://example.org/{n}"}],
        resources=[
            {"name": "frontend/{n}", "source": "base", "file": "a/b.json", "sha256": SHA256, "repair": []},
            {"name": "counts", "source": "counts"},
        ],
    )
    expanded = expand(document)
    base, counts = expanded.sources["base"], expanded.sources["counts"]
    assert expanded.title == "A {title} of 3"
    assert (base.origin, base.quantization, base.at) == ("hf:org/model@3", Quantization.MODELOPT, "/sources/base")
    assert base.config == {"a": {"b": [1, 2.5, None, True, "x3", 6]}}
    assert base.unused == ("model.visual.*", "mtp.3.*")
    assert (counts.kind, counts.origin, counts.sha256) == (SourceKind.FILE, "https://example.org/x", SHA256)
    assert [(item.claim, item.url) for item in expanded.evidence] == [("as 3", "https://example.org/3")]
    tokenizer, ranking = expanded.resources
    assert (tokenizer.name, tokenizer.source, tokenizer.file) == ("frontend/3", "base", "a/b.json")
    assert (tokenizer.sha256, tokenizer.repair, tokenizer.at) == (SHA256, (), "/resources/0")
    assert (ranking.name, ranking.source, ranking.file, ranking.sha256) == ("counts", "counts", None, None)


def test_formulas_stand_wherever_integers_do() -> None:
    expanded = expand(
        recipe(
            revision="=1+1",
            let={"H": 8, "D": "=2*H", "some": ["=H", "=D"], "more": {"from": "=H-8", "to": "=D", "step": "=H"}},
            objects=[
                {"for": "l", "in": "some", "objects": [plain(name="s{l}", shape=["=l", "=D-l+1"])]},
                {"for": "l", "in": "more", "objects": [plain(name="m{l}", shape=["=l+1"])]},
                {"for": "l", "in": {"from": "=H", "to": "=H+2"}, "objects": [plain(name="r{l}")]},
                {"for": "l", "in": ["=H"], "objects": [plain(name="i{l}")]},
            ],
        )
    )
    assert expanded.revision == 2
    found = {spec.name: spec.shape for spec in expanded.objects}
    assert found == {
        "s8": (8, 9),
        "s16": (16, 1),
        "m0": (1,),
        "m8": (9,),
        "r8": (4,),
        "r9": (4,),
        "i8": (4,),
    }


def test_an_override_changes_what_depends_on_it() -> None:
    document = recipe(let={"H": 5120, "D": "=2*H"}, objects=[plain(shape=["=H", "=D"])])
    [spec] = objects_of(document, {"H": 64})
    assert spec.shape == (64, 128)
    assert expand(document, {"H": 64}).let_overridden
    assert not expand(document).let_overridden


def test_loops_nest_and_keep_the_order_of_their_sets() -> None:
    inner: Document = {"for": "b", "in": [1, 0], "objects": [plain(name="{a}/{b}")]}
    assert names_of(recipe(objects=[{"for": "a", "in": [34, 3], "objects": [inner, plain(name="{a}")]}])) == [
        "34/1",
        "34/0",
        "34",
        "3/1",
        "3/0",
        "3",
    ]


def test_with_is_evaluated_in_order_and_hides_what_is_outside() -> None:
    body = [plain(name="{o}", value={"tensor": "{p}"})]
    inner: Document = {"for": "n", "in": [1], "with": {"o": "{o}{q}"}, "objects": body}
    texts = {"o": "layers/{l}/", "p": "{o}weight", "l": "{l}x", "q": "{l}"}
    document = recipe(objects=[{"for": "l", "in": [7], "with": texts, "objects": [inner]}])
    [spec] = objects_of(document)
    assert (spec.name, spec.value) == ("layers/7/7x", Tensor("layers/7/weight", "base"))


def test_an_inner_name_hides_an_outer_one_and_only_inside() -> None:
    document = recipe(
        let={"l": 100},
        objects=[
            plain(name="before{l}", shape=["=l"]),
            {"for": "l", "in": [1, 2], "objects": [plain(name="in{l}", shape=["=l"])]},
            plain(name="after{l}", shape=["=l"]),
        ],
    )
    found = [(spec.name, spec.shape[0]) for spec in objects_of(document)]
    assert found == [("before100", 100), ("in1", 1), ("in2", 2), ("after100", 100)]


def test_scope_is_dynamic_in_templates_and_values() -> None:
    document = recipe(
        values={"of": {"tensor": "{p}{l}.{t}"}},
        templates={
            "pair": [plain(name="{o}a", value={"value": "of", "with": {"t": "a"}}), {"use": "single"}],
            "single": [plain(name="{o}b", shape=["=l+1"], value={"value": "of", "with": {"t": "b"}})],
        },
        objects=[{"for": "l", "in": [3], "objects": [{"use": "pair", "with": {"o": "{l}/", "p": "layers."}}]}],
    )
    found = [(spec.name, spec.value) for spec in objects_of(document)]
    assert found == [("3/a", Tensor("layers.3.a", "base")), ("3/b", Tensor("layers.3.b", "base"))]
    assert objects_of(document)[1].shape == (4,)


def test_a_template_may_be_used_again_and_by_two_others() -> None:
    document = recipe(
        templates={"x": [plain(name="{o}")], "y": [{"use": "x", "with": {"o": "{o}y"}}]},
        objects=[{"use": "x", "with": {"o": "1"}}, {"use": "y", "with": {"o": "2"}}, {"use": "x", "with": {"o": "3"}}],
    )
    assert names_of(document) == ["1", "2y", "3"]


def test_formats_layouts_encoders_and_templates_may_be_chosen_by_variables() -> None:
    chosen = {
        "format": "Q{bits}G64_{scale}",
        "layout": "row-{s}-k128-v{n}",
        "encode": "MAXABS_F{n}6_RECIP_RNE_V{n}",
        "value": {"value": "v{n}"},
    }
    document = recipe(
        let={"bits": 5, "n": 1},
        values={"v1": TENSOR},
        templates={"t1": [quantized(name="q{n}", **chosen)]},
        evidence=EVIDENCE,
        objects=[{"use": "t{n}", "with": {"scale": "F16S", "s": "split"}}],
    )
    [spec] = objects_of(document)
    assert (spec.name, spec.format, spec.layout) == ("q1", Format.Q5G64_F16S, Layout.ROW_SPLIT)
    assert spec.encode is EncoderProfile.MAXABS_F16_RECIP_RNE_V1


def test_names_of_sets_operators_and_rules_may_hold_variables() -> None:
    document = recipe(
        let={"set7": [4, 5], "n": 7},
        objects=[
            {
                "for": "l",
                "in": "set{n}",
                "with": {"to": "FP32", "by": "exact", "kind": "positive", "finite": "allow", "b": "base"},
                "when": {"l": "set{n}"},
                "objects": [
                    plain(
                        name="{l}",
                        format="{to}",
                        require="{kind}",
                        nonfinite="{finite}",
                        value={"cast": {"tensor": "w", "source": "{b}"}, "to": "{to}", "by": "{by}"},
                    )
                ],
            }
        ],
    )
    first, second = objects_of(document)
    assert (first.name, second.name) == ("4", "5")
    assert (first.require, first.nonfinite) == (Require.POSITIVE, Nonfinite.ALLOW)
    assert first.value == Cast(W, Format.FP32, CastRule.EXACT)


@pytest.mark.parametrize(
    ("when", "unless", "kept"),
    [
        ({}, {}, [0, 1, 2, 3, 4, 5]),
        ({"l": "full"}, {}, [1, 3, 5]),
        ({"l": {"from": 2, "to": 4}}, {}, [2, 3]),
        ({"l": [5, 0]}, {}, [0, 5]),
        ({}, {"l": "full"}, [0, 2, 4]),
        ({"l": "full"}, {"l": [3]}, [1, 5]),
        ({"l": "full", "m": [10]}, {}, [1, 3, 5]),
        ({"l": "full", "m": [11]}, {}, []),
        ({}, {"l": [0], "m": [10]}, []),
        ({}, {"l": [0], "m": [11]}, [1, 2, 3, 4, 5]),
        ({"l": []}, {}, []),
        ({}, {"l": []}, [0, 1, 2, 3, 4, 5]),
        ({"l": ["=m-7"]}, {}, [3]),
    ],
)
@pytest.mark.parametrize("place", ["object", "loop", "use", "loop inside"])
def test_conditions(place: str, when: Document, unless: Document, kept: list[int]) -> None:
    conditions = {"when": when, "unless": unless}
    inside: Document = {
        "object": plain(name="{l}", **conditions),
        "loop": plain(name="{l}"),
        "use": {"use": "t", **conditions},
        "loop inside": {"for": "k", "in": [0], **conditions, "objects": [plain(name="{l}")]},
    }[place]
    document = recipe(
        let={"full": {"from": 1, "to": 6, "step": 2}, "m": 10},
        templates={"t": [plain(name="{l}")]},
        objects=[
            plain(),
            {"for": "l", "in": {"from": 0, "to": 6}, **(conditions if place == "loop" else {}), "objects": [inside]},
        ],
    )
    assert names_of(document) == ["a", *map(str, kept)]


def test_what_is_excluded_is_not_evaluated() -> None:
    document = recipe(
        objects=[
            plain(),
            {"for": "l", "in": [1], "unless": {"l": [1]}, "with": {"x": "{nowhere}"}, "objects": []},
            {"for": "l", "in": [1], "objects": [plain(name="{nowhere}", when={"l": [2]})]},
        ]
    )
    assert names_of(document) == ["a"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"tensor": "w", "source": "base"}, W),
        ({"slice": TENSOR, "axis": 1, "from": 0, "to": "=n"}, Slice(W, 1, 0, 4)),
        ({"reshape": TENSOR, "to": []}, Reshape(W, ())),
        ({"reshape": TENSOR, "to": ["=n", 1]}, Reshape(W, (4, 1))),
        ({"transpose": TENSOR, "axes": [1, 0]}, Transpose(W, (1, 0))),
        ({"concat": [TENSOR, {"tensor": "v"}], "axis": 0}, Concat((W, Tensor("v", "base")), 0)),
        (
            {"concat": {"for": "e", "in": [1, 0], "each": [{"tensor": "{e}.g"}, {"tensor": "{e}.u"}]}, "axis": 0},
            Concat(tuple(Tensor(name, "base") for name in ("1.g", "1.u", "0.g", "0.u")), 0),
        ),
        ({"same": [TENSOR, {"tensor": "v"}]}, Same((W, Tensor("v", "base")))),
        ({"cast": TENSOR, "to": "BF16", "by": "exact"}, Cast(W, Format.BF16, CastRule.EXACT)),
        ({"cast": TENSOR, "to": "I32", "by": "checked"}, Cast(W, Format.I32, CastRule.CHECKED)),
        ({"reciprocal": TENSOR, "by": "exact"}, Reciprocal(W, ReciprocalRule.EXACT)),
        ({"value": "v", "with": {"t": "w"}}, W),
    ],
)
def test_expressions(value: Document, expected: object) -> None:
    assert value_of(value, let={"n": 4}, values={"v": {"value": "u"}, "u": {"tensor": "{t}"}}) == expected


def test_gather_names_an_object_earlier_or_later() -> None:
    rows = plain(name="rows", format="I32", value={"tensor": "r"})
    gathered = plain(value={"gather": TENSOR, "rows": "rows"})
    for objects in ([rows, gathered], [gathered, rows]):
        found = {spec.name: spec.value for spec in objects_of(recipe(objects=objects))}
        assert found["a"] == Gather(W, "rows")


def copied(**members: object) -> Document:
    return plain(format="NVFP4", encode="copy", shape=[128, 64], value={"nvfp4": {**members}})


@pytest.mark.parametrize(
    ("members", "convention", "rule"),
    [
        ({"divisors": [TENSOR]}, DivisorConvention.DIVISORS, ReciprocalRule.EXACT),
        ({"multipliers": [TENSOR]}, DivisorConvention.MULTIPLIERS, ReciprocalRule.EXACT),
        ({"multipliers": [TENSOR], "reciprocal": "exact"}, DivisorConvention.MULTIPLIERS, ReciprocalRule.EXACT),
        ({"multipliers": [TENSOR], "reciprocal": "nearest"}, DivisorConvention.MULTIPLIERS, ReciprocalRule.NEAREST),
    ],
)
def test_nvfp4(members: Document, convention: DivisorConvention, rule: ReciprocalRule) -> None:
    document = recipe(objects=[copied(codes={"tensor": "c"}, scales={"tensor": "s"}, **members)], evidence=EVIDENCE)
    [spec] = objects_of(document)
    assert spec.value == Nvfp4(Tensor("c", "base"), Tensor("s", "base"), (W,), convention, rule)
    assert (spec.layout, spec.encode) == (Layout.BLOCK_SCALE, WordOrigin.COPY)


@pytest.mark.parametrize("place", ["nvfp4 nearest", "reciprocal nearest", "rne"])
def test_nearest_and_rne_are_lossy(place: str) -> None:
    objects = {
        "nvfp4 nearest": [copied(codes=TENSOR, scales=TENSOR, multipliers=[TENSOR], reciprocal="nearest")],
        "reciprocal nearest": [plain(format="FP32", shape=[], value={"reciprocal": TENSOR, "by": "nearest"})],
        "rne": [plain(value={"same": [TENSOR, {"cast": TENSOR, "to": "BF16", "by": "rne"}]})],
    }[place]
    assert [fault.at for fault in faults_of(recipe(objects=objects))] == ["/evidence"]


def test_copies_casts_and_equals_need_no_evidence() -> None:
    objects = [
        copied(codes=TENSOR, scales=TENSOR, multipliers=[TENSOR]),
        plain(name="b", value={"cast": TENSOR, "to": "BF16", "by": "exact"}),
        plain(name="c", equals=[{"cast": TENSOR, "to": "BF16", "by": "rne"}]),
        plain(name="d", format="FP32", value={"reciprocal": TENSOR, "by": "exact"}),
    ]
    assert len(objects_of(recipe(objects=objects))) == 4


def test_fp8_row_is_copied_or_encoded() -> None:
    words = {"fp8_row": {"codes": {"tensor": "c"}, "scales": {"tensor": "s"}}}
    fp8 = plain(format="FP8_E4M3FN_ROW_BF16S", shape=[2, 4])
    document = recipe(
        objects=[
            {**fp8, "encode": "copy", "value": words, "equals": [words]},
            {**fp8, "name": "b", "encode": "FP8_ROW_MAXABS_RECIP_RNE_V1"},
        ],
        evidence=EVIDENCE,
    )
    copy, encoded = objects_of(document)
    assert copy.value == copy.equals[0] == Fp8Row(Tensor("c", "base"), Tensor("s", "base"))
    assert encoded.encode is EncoderProfile.FP8_ROW_MAXABS_RECIP_RNE_V1
    assert copy.layout is encoded.layout is Layout.ROW_SCALE


def test_draft_ids() -> None:
    members = {"counts": "ranking", "width": 248320, "domain": 248077, "take": 131072, "special": "config"}
    document = recipe(
        sources={"base": {"kind": "checkpoint"}, "ranking": {"kind": "file"}},
        resources=[{"name": "config", "source": "base", "file": "tokenizer_config.json"}],
        objects=[plain(format="I32", shape=[131072], value={"draft_ids": members})],
    )
    [spec] = objects_of(document)
    assert spec.value == DraftIds("ranking", 248320, 248077, 131072, "config")


def test_the_source_may_be_left_out_beside_files() -> None:
    sources = {"base": {"kind": "checkpoint"}, "ranking": {"kind": "file"}}
    assert value_of(TENSOR, sources=sources) == W


def test_sixteen_levels_are_allowed_and_names_add_none() -> None:
    value: Document = {"value": "v0"}
    values: dict[str, Document] = {f"v{i}": {"reshape": {"value": f"v{i + 1}"}, "to": [4]} for i in range(15)}
    values["v15"] = {"value": "v16"}
    values["v16"] = TENSOR
    assert objects_of(of_value(value, values=values))
    values["v15"] = {"reshape": {"value": "v16"}, "to": [4]}
    [fault] = faults_of(of_value(value, values=values))
    assert (fault.at, fault.message) == ("/values/v16", "an expression of more than 16 levels")


def test_rank_zero_and_the_largest_integers() -> None:
    document = recipe(
        let={"most": 2**63 - 1, "exact": 2**53 - 1},
        revision="=exact",
        objects=[plain(shape=[], format="FP32"), plain(name="b", shape=["=exact"]), plain(name="{most}")],
    )
    expanded = expand(document)
    assert expanded.revision == 2**53 - 1
    assert [spec.shape for spec in expanded.objects] == [(), (2**53 - 1,), (4,)]
    assert expanded.objects[2].name == "9223372036854775807"


def test_names_of_512_bytes() -> None:
    assert names_of(recipe(objects=[plain(name="é" * 256)])) == ["é" * 256]


def test_a_recipe_of_resources_only() -> None:
    document = recipe(objects=[], resources=[{"name": "r", "source": "base", "file": "f"}])
    assert expand(document).objects == ()


def test_where_an_object_came_from() -> None:
    document = recipe(
        templates={"a/b": [plain(name="t")]},
        objects=[plain(), {"for": "l", "in": [0], "objects": [plain(name="b"), {"use": "a/b"}]}],
    )
    assert [spec.at for spec in objects_of(document)] == ["/objects/0", "/objects/1/objects/0", "/templates/a~1b/0"]
