"""What the objects of the inventories mean, against the numbers printed in container-v3.md, 7 to 10."""

from __future__ import annotations

from collections import Counter

import pytest

from schemas.registry import Format
from tests.architectures.models import (
    DENSE_27B,
    DENSE_38,
    MOE_35B,
    NVFP4_27B,
    NVFP4_38,
    QWEN3_5,
    TARGETS,
    Model,
    described,
    few_layers,
    model,
    model_with_dflash2,
)
from workers.engine.architectures.qwen3_5.parameters import parameters
from workers.engine.architectures.registered import architecture_of
from workers.engine.container.model_description import (
    ActivationPolicy,
    Binding,
    Component,
    ElementRange,
    JoinedRanges,
    ModelDescription,
    Proposal,
    WholeTensor,
)

A16, A8, A4 = ActivationPolicy.A16_ONLY, ActivationPolicy.ALLOW_A8, ActivationPolicy.ALLOW_A4


def binding_counts(description: ModelDescription) -> dict[str, int]:
    return dict(Counter(name.partition("/")[0] for name in description.bindings))


def policies(description: ModelDescription) -> dict[ActivationPolicy | None, int]:
    return dict(Counter(use.policy for use in description.uses))


def test_the_inventories_bind_as_many_parameters_as_section_7_counts() -> None:
    dense = {"text": 963, "vision": 441, "mtp": 16, "proposal": 2}
    for target in (DENSE_27B, NVFP4_27B, DENSE_38, NVFP4_38):
        assert binding_counts(described(target)) == dense
        assert len(described(target).bindings) == 1422
    assert binding_counts(described(MOE_35B)) == dense | {"text": 31_403, "mtp": 786, "dflash": 81}
    assert len(described(MOE_35B).bindings) == 32_713
    for target in (DENSE_38, NVFP4_38):
        assert binding_counts(model_with_dflash2(target).describe()) == dense | {"dflash2": 91}
        assert len(model_with_dflash2(target).describe().bindings) == 1513


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (DENSE_27B, {A16: 785}),
        (NVFP4_27B, {A16: 300, A4: 485}),
        (DENSE_38, {A16: 785}),
        (NVFP4_38, {A16: 271, A8: 346, A4: 168}),
        (MOE_35B, {A16: 32_184}),
    ],
)
def test_uses_and_policies_are_those_of_section_9(target: str, expected: dict[ActivationPolicy, int]) -> None:
    assert policies(described(target)) == expected


@pytest.mark.parametrize(("target", "expected"), [(DENSE_38, {A16: 844}), (NVFP4_38, {A16: 329, A8: 347, A4: 168})])
def test_uses_and_policies_with_dflash2(target: str, expected: dict[ActivationPolicy, int]) -> None:
    assert policies(model_with_dflash2(target).describe()) == expected


def test_35b_without_dflash_has_the_totals_of_section_7() -> None:
    description = model(MOE_35B).less("dflash").describe()
    assert (len(description.bindings), len(description.uses)) == (32_632, 32_127)


@pytest.mark.parametrize(("target", "scalars", "uses"), [(NVFP4_27B, 247, 485), (NVFP4_38, 112, 168)])
def test_scalars_become_the_auxiliaries_of_the_uses_they_divide(target: str, scalars: int, uses: int) -> None:
    divided = [use for use in described(target).uses if use.auxiliaries]
    named = {one.name for one in model(target).tensors if one.name.endswith("/input_scale_divisor")}
    assert len(divided) == uses == policies(described(target))[A4]
    assert {role for use in divided for role in use.auxiliaries} == {"activation_input_divisor"}
    held = [use.auxiliaries["activation_input_divisor"] for use in divided]
    assert {one.object for one in held if isinstance(one, WholeTensor)} == named
    assert len(named) == scalars
    assert not any(name in described(target).bindings for name in named)


def test_each_scalar_divides_the_uses_of_its_row_in_section_9() -> None:
    divided: dict[str, list[str]] = {}
    for use in described(NVFP4_27B).uses:
        for held in use.auxiliaries.values():
            assert isinstance(held, WholeTensor)
            divided.setdefault(held.object, []).append(use.parameter)
    p = "text/layers/27/"
    assert divided[f"{p}attention/input_projection/input_scale_divisor"] == [
        f"{p}attention/{name}" for name in ("query", "gate", "key", "value")
    ]
    assert divided[f"{p}attention/output_projection/input_scale_divisor"] == [f"{p}attention/output"]
    assert divided[f"{p}mlp/gate_up_projection/input_scale_divisor"] == [f"{p}mlp/gate", f"{p}mlp/up"]
    assert divided[f"{p}mlp/down_projection/input_scale_divisor"] == [f"{p}mlp/down"]
    p = "text/layers/0/"
    assert divided[f"{p}gdn/input_projection/input_scale_divisor"] == [
        f"{p}gdn/{name}" for name in ("query", "key", "value", "z")
    ]
    assert divided[f"{p}gdn/output_projection/input_scale_divisor"] == [f"{p}gdn/output"]


def test_bf16_parts_of_3_6_nvfp4_allow_16_bits_only() -> None:
    """Section 9: attention of layers below 24, attention/output of 3 and 7, gdn/output of 4, gdn a and b."""
    expected = {
        *(
            f"text/layers/{layer}/attention/{name}"
            for layer in range(3, 24, 4)
            for name in ("query", "key", "gate", "value")
        ),
        *(f"text/layers/{layer}/attention/output" for layer in (3, 7)),
        "text/layers/4/gdn/output",
        *(f"text/layers/{layer}/gdn/{name}_projection" for layer in range(64) if layer % 4 != 3 for name in "ab"),
    }
    layers = [use for use in described(NVFP4_27B).uses if use.parameter.startswith("text/layers/")]
    assert {use.parameter for use in layers if use.policy is A16} == expected


def test_fp8_heads_of_3_8_allow_8_bits_at_each_of_their_inputs() -> None:
    uses = [use for use in model_with_dflash2(NVFP4_38).describe().uses if use.parameter == "text/output_head"]
    assert [(use.input, use.policy) for use in uses] == [
        ("text/final_hidden", A8),
        ("mtp/final_hidden", A8),
        ("dflash2/final_hidden", A8),
    ]


def test_nvfp4_without_its_scalar_allows_16_bits_only() -> None:
    cut = model(NVFP4_27B).without("text/layers/1/mlp/down_projection/")
    (use,) = [use for use in cut.describe().uses if use.parameter == "text/layers/1/mlp/down"]
    assert (use.policy, dict(use.auxiliaries)) == (A16, {})


L3, L0, M, V = "text/layers/3/", "text/layers/0/", "mtp/layers/0/", "vision/layers/26/"
FOUR_27B = {
    "query": (0, 31457280),
    "key": (31457280, 36700160),
    "gate": (36700160, 68157440),
    "value": (68157440, 73400320),
}
FOUR_35B = {
    "query": (0, 8388608),
    "key": (8388608, 9437184),
    "gate": (9437184, 17825792),
    "value": (17825792, 18874368),
}
SECTION_8: list[tuple[str, str, str, dict[str, tuple[int, int]]]] = [
    (DENSE_27B, f"{L3}attention/query_key", f"{L3}attention/", {"query": (0, 31457280), "key": (31457280, 36700160)}),
    (DENSE_27B, f"{L3}attention/gate_value", f"{L3}attention/", {"gate": (0, 31457280), "value": (31457280, 36700160)}),
    (NVFP4_27B, f"{L3}attention/query_key_gate_value", f"{L3}attention/", FOUR_27B),
    (DENSE_27B, "mtp/layer/attention/query_key_gate_value", f"{M}attention/", FOUR_27B),
    (MOE_35B, f"{L3}attention/query_key_gate_value", f"{L3}attention/", FOUR_35B),
    (MOE_35B, "mtp/layer/attention/query_key_gate_value", f"{M}attention/", FOUR_35B),
    (DENSE_27B, f"{L0}gdn/query_key", f"{L0}gdn/", {"query": (0, 10485760), "key": (10485760, 20971520)}),
    (DENSE_27B, f"{L0}gdn/value_z", f"{L0}gdn/", {"value": (0, 31457280), "z": (31457280, 62914560)}),
    (
        NVFP4_27B,
        f"{L0}gdn/query_key_value_z",
        f"{L0}gdn/",
        {
            "query": (0, 10485760),
            "key": (10485760, 20971520),
            "value": (20971520, 52428800),
            "z": (52428800, 83886080),
        },
    ),
    (
        MOE_35B,
        f"{L0}gdn/query_key_value_z",
        f"{L0}gdn/",
        {"query": (0, 4194304), "key": (4194304, 8388608), "value": (8388608, 16777216), "z": (16777216, 25165824)},
    ),
    (
        NVFP4_38,
        f"{L0}gdn/a_b_projection",
        f"{L0}gdn/",
        {"a_projection": (0, 245760), "b_projection": (245760, 491520)},
    ),
    (MOE_35B, f"{L0}gdn/a_b_projection", f"{L0}gdn/", {"a_projection": (0, 65536), "b_projection": (65536, 131072)}),
    (DENSE_27B, f"{L0}mlp/gate_up", f"{L0}mlp/", {"gate": (0, 89128960), "up": (89128960, 178257920)}),
    (DENSE_27B, "mtp/layer/mlp/gate_up", f"{M}mlp/", {"gate": (0, 89128960), "up": (89128960, 178257920)}),
    (
        MOE_35B,
        "dflash/layers/5/mlp/gate_up",
        "dflash/layers/5/mlp/",
        {"gate": (0, 12582912), "up": (12582912, 25165824)},
    ),
    (
        MOE_35B,
        f"{L0}moe/router_shared_gate",
        f"{L0}moe/",
        {"router": (0, 524288), "shared_score": (524288, 526336)},
    ),
    (
        MOE_35B,
        f"{L0}moe/routed_gate_up",
        f"{L0}moe/experts/",
        {
            f"{e}/{name}": (2097152 * e + 1048576 * half, 2097152 * e + 1048576 * (half + 1))
            for e in range(256)
            for half, name in enumerate(("gate", "up"))
        },
    ),
    (
        MOE_35B,
        "mtp/layer/moe/routed_down",
        f"{M}moe/experts/",
        {f"{e}/down": (1048576 * e, 1048576 * (e + 1)) for e in range(256)},
    ),
    (MOE_35B, f"{L0}moe/shared_gate_up", f"{L0}moe/shared/", {"gate": (0, 1048576), "up": (1048576, 2097152)}),
    (
        DENSE_27B,
        f"{V}attention/qkv",
        f"{V}attention/",
        {"query": (0, 1327104), "key": (1327104, 2654208), "value": (2654208, 3981312)},
    ),
    (
        DENSE_27B,
        f"{V}attention/qkv_bias",
        f"{V}attention/",
        {"query_bias": (0, 1152), "key_bias": (1152, 2304), "value_bias": (2304, 3456)},
    ),
    (
        MOE_35B,
        "dflash/layers/0/attention/query_key_value",
        "dflash/layers/0/attention/",
        {
            "query": (0, 8388608),
            "key": (8388608, 10485760),
            "context_key": (8388608, 10485760),
            "value": (10485760, 12582912),
            "context_value": (10485760, 12582912),
        },
    ),
]


def assert_parts(bindings: dict[str, Binding], object: str, prefix: str, expected: dict[str, tuple[int, int]]) -> None:
    held = {
        name: binding
        for name, binding in bindings.items()
        if isinstance(binding, JoinedRanges) and binding.ranges[0].object == object
    }
    assert held == {
        f"{prefix}{name}": JoinedRanges((ElementRange(object, start, stop),))
        for name, (start, stop) in expected.items()
    }


@pytest.mark.parametrize(("target", "object", "prefix", "expected"), SECTION_8, ids=lambda value: str(value)[:60])
def test_an_object_of_section_8_holds_its_parameters_at_those_elements(
    target: str, object: str, prefix: str, expected: dict[str, tuple[int, int]]
) -> None:
    assert_parts(dict(described(target).bindings), object, prefix, expected)


def test_dflash2_objects_of_section_8() -> None:
    bindings = dict(model_with_dflash2(DENSE_38).describe().bindings)
    key, value = (20971520, 26214400), (26214400, 31457280)
    three = {"query": (0, 20971520), "key": key, "context_key": key, "value": value, "context_value": value}
    p = "dflash2/layers/4/"
    assert_parts(bindings, f"{p}attention/query_key_value", f"{p}attention/", three)
    halves = {"gate": (0, 89128960), "up": (89128960, 178257920)}
    assert_parts(bindings, f"{p}mlp/gate_up", f"{p}mlp/", halves)


@pytest.mark.parametrize(
    ("target", "object", "parameter"),
    [
        (DENSE_27B, "text/layers/0/gdn/a_projection", "text/layers/0/gdn/a_projection"),
        (NVFP4_27B, "text/layers/0/gdn/b_projection", "text/layers/0/gdn/b_projection"),
        (DENSE_38, "text/layers/62/gdn/a_projection", "text/layers/62/gdn/a_projection"),
        (MOE_35B, "text/layers/39/moe/shared_down", "text/layers/39/moe/shared/down"),
        (MOE_35B, "mtp/layer/moe/shared_down", "mtp/layers/0/moe/shared/down"),
        (DENSE_27B, "text/draft_head", "proposal/head"),
        (DENSE_27B, "text/draft_head_token_ids", "proposal/token_ids"),
        (DENSE_27B, "mtp/layer/input_norm", "mtp/layers/0/input_norm"),
        (DENSE_27B, "vision/layers/1/norm1/weight", "vision/layers/1/norm1_weight"),
        (DENSE_27B, "vision/layers/1/norm2/bias", "vision/layers/1/norm2_bias"),
        (DENSE_27B, "vision/merger/norm/weight", "vision/merger/norm_weight"),
        (DENSE_27B, "vision/merger/norm/bias", "vision/merger/norm_bias"),
        (DENSE_27B, "text/token_embedding", "text/token_embedding"),
        (MOE_35B, "dflash/feature_projection", "dflash/feature_projection"),
    ],
)
def test_whole_objects_of_section_8(target: str, object: str, parameter: str) -> None:
    bindings = described(target).bindings
    assert bindings[parameter] == WholeTensor(object)
    assert [name for name, held in bindings.items() if held == WholeTensor(object)] == [parameter]


@pytest.mark.parametrize("target", TARGETS)
def test_every_object_is_bound_or_divides(target: str) -> None:
    description = described(target)
    named = set[str]()
    for binding in (
        *description.bindings.values(),
        *(one for use in description.uses for one in use.auxiliaries.values()),
    ):
        named |= {binding.object} if isinstance(binding, WholeTensor) else {one.object for one in binding.ranges}
    assert named == {one.name for one in model(target).tensors}


@pytest.mark.parametrize("target", TARGETS)
def test_bindings_and_uses_follow_the_order_of_the_parameters(target: str) -> None:
    table = parameters(model(target).configs, Proposal(131072))
    assert list(described(target).bindings) == [one.name for one in table]
    expected = [(one.name, input) for one in table for input in one.inputs]
    assert [(use.parameter, use.input) for use in described(target).uses] == expected


def test_the_order_of_objects_makes_no_difference() -> None:
    plain = few_layers()
    assert Model(plain.tensors[::-1], plain.resources[::-1], plain.configs).describe() == plain.describe()


@pytest.mark.parametrize("target", TARGETS)
def test_components_have_their_targets_resources_and_proposal(target: str) -> None:
    configs, offered = model(target).configs, ["text", "vision", "mtp", *(["dflash"] if target == MOE_35B else [])]
    files = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json")
    seen = ("preprocessor_config.json", "video_preprocessor_config.json")
    expected = {name: Component(configs[name], "text") for name in offered}
    expected["text"] = Component(configs["text"], None, {role: f"frontend/{role}" for role in files}, Proposal(131072))
    expected["vision"] = Component(configs["vision"], "text", {role: f"frontend/{role}" for role in seen})
    assert described(target).components == expected
    assert architecture_of(described(target)) is QWEN3_5


def test_parts_that_are_left_out() -> None:
    plain = few_layers()
    text = plain.less("vision", "mtp", "dflash").without("text/draft_head").describe()
    assert (list(text.components), list(binding_counts(text))) == (["text"], ["text"])
    assert text.components["text"].proposal is None
    assert [use.input for use in text.uses if use.parameter == "text/output_head"] == ["text/final_hidden"]
    for component in ("vision", "mtp", "dflash"):
        rest = plain.less(component).describe()
        assert list(rest.components) == [name for name in plain.configs if name != component]
        assert binding_counts(rest) == {
            name: count for name, count in binding_counts(plain.describe()).items() if name != component
        }


def test_a_draft_head_of_all_rows_without_ids_proposes_over_the_whole_vocabulary() -> None:
    full = few_layers().without("text/draft_head").with_tensor("text/draft_head", (248320, 2048), Format.Q4G64_F16S)
    description = full.describe()
    assert description.components["text"].proposal == Proposal(None)
    assert description.bindings["proposal/head"] == WholeTensor("text/draft_head")
    assert "proposal/token_ids" not in description.bindings


def test_parameters_in_objects_of_their_own_are_bound_whole() -> None:
    alone = few_layers().without("dflash/layers/0/attention/query_key_value")
    p, q8 = "dflash/layers/0/attention/", Format.W8G32_F16S
    for name, rows in (("query", 4096), ("key", 1024), ("value", 1024), ("context_key", 1024)):
        alone = alone.with_tensor(f"{p}{name}", (rows, 2048), q8)
    bindings = alone.describe().bindings
    assert bindings[f"{p}key"] == WholeTensor(f"{p}key")
    assert bindings[f"{p}context_key"] == WholeTensor(f"{p}context_key")
    assert bindings[f"{p}context_value"] == WholeTensor(f"{p}value"), "shared, for want of an object of its own"


def test_components_are_known_by_the_names_of_objects() -> None:
    offered = QWEN3_5.offered_components
    assert offered([]) == ("text",)
    assert offered(["dflash2/x", "mtp/y", "text/z"]) == ("text", "mtp", "dflash2")
    assert offered(["vision/x", "dflash/y", "visionary/z", "mtp"]) == ("text", "vision", "dflash")
