"""Rules for a description that was read, each broken alone: container-v3.md, 6 and 13, Architecture."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from schemas.registry import Format
from tests.architectures.models import (
    DENSE_38,
    NVFP4_27B,
    QWEN3_5,
    TARGETS,
    described,
    few_layers,
    model,
    model_with_dflash2,
    stored,
)
from workers.engine.architectures.registered import architecture_of
from workers.engine.container.directory import TensorObject
from workers.engine.container.model_description import (
    Binding,
    Component,
    ElementRange,
    JoinedRanges,
    ModelDescription,
    Proposal,
    Use,
    WholeTensor,
)

Objects = dict[str, TensorObject]
Read = tuple[ModelDescription, Objects]


def faults(description: ModelDescription, objects: Objects) -> list[tuple[str, str]]:
    return [(fault.at, fault.message) for fault in QWEN3_5.architecture_faults(description, objects)]


def small() -> Read:
    """A file of few layers."""
    return few_layers().describe(), few_layers().objects()


def quantized() -> Read:
    """The 27B file with NVFP4 matrices and their divisors."""
    return described(NVFP4_27B), model(NVFP4_27B).objects()


def drafting() -> Read:
    """The 27B file with dflash2."""
    whole = model_with_dflash2(DENSE_38)
    return whole.describe(), whole.objects()


def with_component(description: ModelDescription, name: str, **changes: Any) -> ModelDescription:
    return replace(
        description, components={**description.components, name: replace(description.components[name], **changes)}
    )


def with_config(description: ModelDescription, pointer: str, value: object) -> ModelDescription:
    """The description with the member at `component/member…` set."""
    component, *path, last = pointer.split("/")
    config: Any = deepcopy(dict(description.components[component].config))
    place = config
    for name in path:
        place = place[name]
    place[last] = value
    return with_component(description, component, config=config)


def with_binding(description: ModelDescription, name: str, binding: Binding) -> ModelDescription:
    return replace(description, bindings={**description.bindings, name: binding})


def without_component(description: ModelDescription, name: str) -> ModelDescription:
    return replace(description, components={key: one for key, one in description.components.items() if key != name})


@pytest.mark.parametrize("target", TARGETS)
def test_registered_targets_have_no_faults(target: str) -> None:
    assert faults(described(target), model(target).objects()) == []
    assert list(QWEN3_5.passed_over(described(target))) == []


def test_other_models_have_no_faults() -> None:
    for description, objects in (small(), drafting()):
        assert faults(description, objects) == []
        assert list(QWEN3_5.passed_over(description)) == []


def test_a_file_of_another_grouping_and_other_ids() -> None:
    """One parameter gathered from pieces of several objects, one at an offset of a larger one, a divisor that is an
    element of a vector."""
    description, objects = quantized()
    name = "text/layers/1/mlp/down"
    pieces = (ElementRange("a", 5, 5 + 5120), ElementRange("b", 0, 5120 * 17407))
    objects |= {"a": stored("a", (5130,), Format.BF16), "b": stored("b", (17407, 5120), Format.W8G32_F16S)}
    objects["divisors"] = stored("divisors", (3,), Format.FP32)
    description = with_binding(description, name, JoinedRanges(pieces))
    divisor = {"activation_input_divisor": JoinedRanges((ElementRange("divisors", 1, 2),))}
    uses = [replace(use, auxiliaries=divisor) if use.parameter == name else use for use in description.uses]
    assert faults(replace(description, uses=tuple(reversed(uses))), objects) == []


CONFIG_RULES: list[tuple[str, object, str]] = [
    ("text/model_type", "qwen3_5_text", 'expected "qwen3_5_moe_text", found "qwen3_5_text"'),
    ("text/hidden_size", 0, "expected an integer from 1 to 4294967295, found 0"),
    ("text/hidden_size", 2048.0, "expected an integer from 1 to 4294967295, found 2048.0"),
    ("text/tie_word_embeddings", 0, "expected true or false, found 0"),
    ("text/rms_norm_eps", -1e-6, "expected a positive number in the range of binary32, found -1e-06"),
    ("text/unheard_of", 1, "expected no such member, since the set of members is closed"),
    ("text/intermediate_size", 1, "expected no such member, since the set of members is closed"),
    (
        "text/layer_types",
        ["linear_attention"] * 3 + ["full_attention"] * 2,
        "expected one for each of 4 layers, found 5",
    ),
    ("text/num_attention_heads", 15, "expected a multiple of num_key_value_heads, 2, found 15"),
    ("text/linear_num_value_heads", 33, "expected a multiple of linear_num_key_heads, 16, found 33"),
    ("text/num_experts_per_tok", 7, "expected at most num_experts, 6, found 7"),
    ("text/rope_parameters", [], "expected an object, found []"),
    ("text/rope_parameters/unheard_of", 1, "expected no such member, since the set of members is closed"),
    ("text/rope_parameters/partial_rotary_factor", 1.5, "expected a number above 0 and at most 1, found 1.5"),
    (
        "text/rope_parameters/partial_rotary_factor",
        0.13,
        "expected an even number of turned dimensions, found 33",
    ),
    ("text/rope_parameters/partial_rotary_factor", 0.003, "expected an even number of turned dimensions, found 0"),
    (
        "text/rope_parameters/mrope_section",
        [11, 11],
        "expected three integers, for time, height and width, found [11, 11]",
    ),
    (
        "text/rope_parameters/mrope_section",
        [11, 11, 11],
        "expected three that sum to 32, half the turned dimensions, found [11, 11, 11]",
    ),
    (
        "text/rope_parameters/mrope_section",
        [10, 12, 10],
        "expected [11, 11, 10], as the interleaving counts its pairs, found [10, 12, 10]",
    ),
    ("vision/model_type", "qwen3_5_vision", 'expected "qwen3_5_moe_vision", found "qwen3_5_vision"'),
    ("vision/architectures", ["Vision"], "expected no such member, since the set of members is closed"),
    ("vision/hidden_size", 1153, "expected a multiple of num_heads, 16, found 1153"),
    (
        "vision/hidden_size",
        1120,
        "expected a head width that is a multiple of 4, found 1120 / 16 = 70",
    ),
    ("vision/num_position_embeddings", 2303, "expected a perfect square, found 2303"),
    ("vision/depth", 10**6, "expected a model of at most 1,000,000 parameters, found 1000000 layers"),
    ("mtp/architectures", ["Qwen3_5MTP"], 'expected ["Qwen3_5MoeMTP"], found ["Qwen3_5MTP"]'),
    ("mtp/model_type", "mtp", "expected no such member, since the set of members is closed"),
    ("dflash/architectures", ["DFlash2DraftModel"], 'expected ["DFlashDraftModel"], found ["DFlash2DraftModel"]'),
    ("dflash/model_type", "qwen2", 'expected "qwen3", found "qwen2"'),
    ("dflash/hidden_size", 2048, "expected no such member, since the set of members is closed"),
    ("dflash/head_dim", 127, "expected an even width, found 127"),
    ("dflash/layer_types", ["full_attention"] * 2, "expected one for each of 1 layers, found 2"),
    (
        "dflash/layer_types",
        ["linear_attention"],
        'expected a list of sliding_attention and full_attention, found ["linear_attention"]',
    ),
    ("dflash/sliding_window", 0, "expected an integer from 1 to 4294967295, found 0"),
    (
        "dflash/rope_parameters/partial_rotary_factor",
        1.0,
        "expected no such member, since the set of members is closed",
    ),
    ("dflash/dflash_config/target_layer_ids", [], "expected distinct layers, at least one, found []"),
    ("dflash/dflash_config/target_layer_ids", [1, 1], "expected distinct layers, at least one, found [1, 1]"),
    ("dflash/dflash_config/target_layer_ids", [1, 4], "expected layers below 4, found 4"),
    ("dflash/dflash_config/mask_token_id", 248320, "expected a token below 248320, found 248320"),
    ("dflash/dflash_config/mask_token_id", -1, "expected an integer from 0 to 4294967295, found -1"),
    ("dflash/dflash_config/selector_rank", 256, "expected no such member, since the set of members is closed"),
]


@pytest.mark.parametrize(("pointer", "value", "message"), CONFIG_RULES)
def test_a_rule_of_the_configs(pointer: str, value: object, message: str) -> None:
    description, objects = small()
    component, _, member = pointer.partition("/")
    expected = [(f"/components/{component}/config/{member}", message)]
    assert faults(with_config(description, pointer, value), objects) == expected


def test_a_group_of_channels_divides_the_hidden_size() -> None:
    description, objects = drafting()
    pointer = "dflash2/dflash_config/conv_group_size"
    message = "expected a divisor of hidden_size, 5120, found 48"
    assert faults(with_config(description, pointer, 48), objects) == [
        ("/components/dflash2/config/dflash_config/conv_group_size", message)
    ]


@pytest.mark.parametrize("component", ["text", "vision", "mtp", "dflash", "dflash2"])
def test_every_member_is_required(component: str) -> None:
    description, objects = drafting() if component == "dflash2" else small()
    config = description.components[component].config
    required = [name for name in config if (component, name) != ("text", "architectures")]
    for name in required:
        rest = {key: value for key, value in config.items() if key != name}
        found = faults(with_component(description, component, config=rest), objects)
        assert f"/components/{component}/config/{name}" in [at for at, message in found if "no such member" in message]
    for name, value in config.items():
        for inner in value if isinstance(value, dict) else ():
            assert isinstance(value, dict)
            rest = {**config, name: {key: one for key, one in value.items() if key != inner}}
            ((at, message),) = faults(with_component(description, component, config=rest), objects)
            assert at == f"/components/{component}/config/{name}/{inner}"
            assert message.endswith("found no such member")


def test_few_digits_do_not_ask_for_more_parameters_than_memory_holds() -> None:
    description, objects = small()
    message = "expected a model of at most 1,000,000 parameters, found 4 layers of 4000000000 experts"
    assert faults(with_config(description, "text/num_experts", 4 * 10**9), objects) == [
        ("/components/text/config/num_hidden_layers", message)
    ]


def test_a_window_is_needed_where_layers_slide_only() -> None:
    description, objects = small()
    assert faults(with_config(description, "dflash/sliding_window", 4096), objects) == []
    slides = with_config(description, "dflash/layer_types", ["sliding_attention"])
    expected = "expected an integer from 1 to 4294967295, found no such member"
    assert faults(slides, objects) == [("/components/dflash/config/sliding_window", expected)]


def test_members_that_no_layer_needs_are_refused() -> None:
    description, objects = small()
    linear = with_config(description, "text/layer_types", ["full_attention"] * 4)
    assert {at.rpartition("/")[2] for at, _ in faults(linear, objects)} == {
        "linear_num_key_heads",
        "linear_key_head_dim",
        "linear_num_value_heads",
        "linear_value_head_dim",
        "linear_conv_kernel_dim",
    }
    full = with_config(without_component(description, "mtp"), "text/layer_types", ["linear_attention"] * 4)
    assert {at.rpartition("/")[2] for at, _ in faults(full, objects)} == {
        "num_attention_heads",
        "num_key_value_heads",
        "head_dim",
        "rope_parameters",
    }


def test_mrope_counts_every_pair_as_the_page_does() -> None:
    description, objects = small()
    for pairs in (1, 2, 3, 4, 5, 6, 11):
        for height in range(pairs + 1):
            for across in range(pairs + 1 - height):
                section = [pairs - height - across, height, across]
                turned = [
                    "h" if r % 3 == 1 and r < 3 * height else "w" if r % 3 == 2 and r < 3 * across else "t"
                    for r in range(pairs)
                ]
                rope = {"rope_theta": 1e7, "partial_rotary_factor": 1, "mrope_section": section}
                wrong = with_config(with_config(description, "text/rope_parameters", rope), "text/head_dim", 2 * pairs)
                told = any("mrope_section" in at for at, _ in first(wrong, objects))
                assert told == ([turned.count("t"), turned.count("h"), turned.count("w")] != section)


def first(description: ModelDescription, objects: Objects) -> Iterable[tuple[str, str]]:
    """The first fault alone, if there is any: the parameters of other widths do not fit."""
    for fault in QWEN3_5.architecture_faults(description, objects):
        yield fault.at, fault.message
        return


@pytest.mark.parametrize("component", ["vision", "mtp", "dflash"])
@pytest.mark.parametrize(("target", "found"), [(None, "none"), ("vision", "'vision'")])
def test_components_work_for_text(component: str, target: str | None, found: str) -> None:
    description, objects = small()
    wrong = with_component(description, component, target=target)
    assert faults(wrong, objects) == [(f"/components/{component}/target", f"expected 'text', found {found}")]


def test_resource_roles() -> None:
    description, objects = small()
    text, vision = description.components["text"].resources, description.components["vision"].resources
    for component, resources in (("text", text), ("vision", vision)):
        for role in resources:
            rest = {key: id for key, id in resources.items() if key != role}
            assert faults(with_component(description, component, resources=rest), objects) == [
                (f"/components/{component}/resources", f"expected the role {role!r}, found none")
            ]
    more = with_component(description, "vision", resources={**vision, "a/b": "x"})
    known = "preprocessor_config.json, video_preprocessor_config.json"
    assert faults(more, objects) == [("/components/vision/resources/a~1b", f"expected {known}, found 'a/b'")]
    for component in ("mtp", "dflash"):
        more = with_component(description, component, resources={"x.json": "x"})
        assert faults(more, objects) == [
            (f"/components/{component}/resources/x.json", "expected no roles, found 'x.json'")
        ]


def test_a_proposal_has_no_more_rows_than_the_vocabulary() -> None:
    description, objects = small()
    rows = 248321
    objects["text/draft_head"] = stored("h", (rows, 2048), Format.Q4G64_F16S)
    objects["text/draft_head_token_ids"] = stored("i", (rows,), Format.I32)
    wrong = with_component(description, "text", proposal=Proposal(rows))
    assert faults(wrong, objects) == [
        ("/components/text/proposal/rows", "expected at most vocab_size, 248320, found 248321")
    ]


def test_a_proposal_has_as_many_ids_as_rows() -> None:
    description, objects = small()
    objects["text/draft_head_token_ids"] = stored("i", (131071,), Format.I32)
    ids = "expected the shape [131072], found [131071] in object 'text/draft_head_token_ids'"
    assert faults(description, objects) == [("/bindings/proposal~1token_ids", ids)]
    full = with_component(description, "text", proposal=Proposal(None))
    objects["text/draft_head"] = stored("h", (248320, 2048), Format.Q4G64_F16S)
    assert faults(full, objects) == []


def test_every_parameter_is_bound() -> None:
    description, objects = small()
    for name in description.bindings:
        rest = {key: binding for key, binding in description.bindings.items() if key != name}
        expected = [("/bindings", f"expected the parameter {name!r}, found none")]
        assert faults(replace(description, bindings=rest), objects) == expected


P = "text/layers/3/attention/query"
AT = "/bindings/text~1layers~13~1attention~1query"
PARENT = "text/layers/3/attention/query_key_gate_value"


@pytest.mark.parametrize(
    ("binding", "message"),
    [
        (WholeTensor("nowhere"), "expected a tensor object of a known format, found 'nowhere', which is none"),
        (
            JoinedRanges((ElementRange(PARENT, 0, 1), ElementRange("nowhere", 0, 8388607))),
            "expected a tensor object of a known format, found 'nowhere', which is none",
        ),
        (WholeTensor(PARENT), f"expected the shape [4096, 2048], found [9216, 2048] in object {PARENT!r}"),
        (WholeTensor("turned"), "expected the shape [4096, 2048], found [2048, 4096] in object 'turned'"),
        (
            JoinedRanges((ElementRange(PARENT, 1, 8388608),)),
            "expected 8388608 elements for the shape [4096, 2048], found 8388607",
        ),
        (
            JoinedRanges((ElementRange(PARENT, 10485760, 18874368 + 1), ElementRange(PARENT, 1, 0))),
            f"expected a range in the 18874368 elements of {PARENT!r}, found [10485760, 18874369)",
        ),
    ],
)
def test_a_binding_has_the_elements_of_its_parameter(binding: Binding, message: str) -> None:
    description, objects = small()
    objects["turned"] = stored("turned", (2048, 4096), Format.BF16)
    found = faults(with_binding(description, P, binding), objects)
    assert found[0] == (AT, message)
    assert {at for at, _ in found} == {AT}


@pytest.mark.parametrize(
    ("name", "format", "expected"),
    [
        ("text/layers/0/gdn/a_log", Format.BF16, Format.FP32),
        ("text/layers/0/gdn/dt_bias", Format.I32, Format.FP32),
        ("text/final_norm", Format.FP32, Format.BF16),
        ("vision/position_embedding", Format.Q4G64_F16S, Format.BF16),
        ("text/layers/0/gdn/convolution", Format.FP32, Format.BF16),
    ],
)
def test_fixed_formats(name: str, format: Format, expected: Format) -> None:
    description, objects = small()
    objects[name] = replace(objects[name], format=format)
    at = f"/bindings/{name.replace('/', '~1')}"
    assert faults(description, objects) == [(at, f"expected {expected}, found {format} in object {name!r}")]
    # the same in parts of it
    parts = JoinedRanges((ElementRange(name, 0, _elements(objects[name])),))
    assert faults(with_binding(description, name, parts), objects) == [
        (at, f"expected {expected}, found {format} in object {name!r}")
    ]


def _elements(one: TensorObject) -> int:
    count = 1
    for extent in one.shape:
        count *= extent
    return count


def test_every_use_is_there_with_a_policy() -> None:
    description, objects = small()
    for index, use in enumerate(description.uses):
        rest = description.uses[:index] + description.uses[index + 1 :]
        message = f"{use.parameter!r} at {use.input!r}, found none"
        assert faults(replace(description, uses=rest), objects) == [("/uses", f"expected a use of {message}")]
        bare = (*description.uses[:index], replace(use, policy=None), *description.uses[index + 1 :])
        assert faults(replace(description, uses=bare), objects) == [
            (f"/uses/{index}", f"expected an activation_policy for {message}")
        ]


def divided(description: ModelDescription, auxiliaries: dict[str, Binding]) -> tuple[ModelDescription, str]:
    """The description with other auxiliaries at its first divided use, and the pointer to that use."""
    index = next(index for index, use in enumerate(description.uses) if use.auxiliaries)
    use = replace(description.uses[index], auxiliaries=auxiliaries)
    uses = (*description.uses[:index], use, *description.uses[index + 1 :])
    return replace(description, uses=uses), f"/uses/{index}"


@pytest.mark.parametrize(
    ("binding", "message"),
    [
        (WholeTensor("vector"), "expected the shape [], found [1] in object 'vector'"),
        (WholeTensor("narrow"), "expected FP32, found BF16 in object 'narrow'"),
        (WholeTensor("nowhere"), "expected a tensor object of a known format, found 'nowhere', which is none"),
        (
            JoinedRanges((ElementRange("vector", 0, 1), ElementRange("vector", 0, 1))),
            "expected 1 elements for the shape [], found 2",
        ),
    ],
)
def test_a_divisor_is_one_fp32_element(binding: Binding, message: str) -> None:
    description, objects = quantized()
    objects |= {"vector": stored("vector", (1,), Format.FP32), "narrow": stored("narrow", (), Format.BF16)}
    wrong, use = divided(description, {"activation_input_divisor": binding})
    assert faults(wrong, objects) == [(f"{use}/auxiliaries/activation_input_divisor", message)]


@pytest.mark.parametrize("role", ["input_columns", "hadamard_signs", "a/b"])
def test_other_roles_of_auxiliaries_are_refused(role: str) -> None:
    description, objects = quantized()
    wrong, use = divided(description, {role: WholeTensor("text/final_norm")})
    at = f"{use}/auxiliaries/{role.replace('/', '~1')}"
    assert faults(wrong, objects) == [(at, f"expected the role 'activation_input_divisor', found {role!r}")]


def test_what_is_beyond_the_architecture_is_passed_over_and_told() -> None:
    """The engine asks by name for what it needs."""
    description, objects = small()
    more = with_binding(description, "decision/readout", WholeTensor("text/final_norm"))
    more = replace(
        more,
        components={**more.components, "decision": Component({"pooling": "last"})},
        uses=(
            *more.uses,
            Use("decision/readout", "decision/input", None, {"unheard_of": WholeTensor("nowhere")}),
            Use("text/final_norm", "text/x", None),
        ),
    )
    assert faults(more, objects) == []
    assert list(QWEN3_5.passed_over(more)) == [
        "component 'decision'",
        "parameter 'decision/readout'",
        "use of 'decision/readout' at 'decision/input'",
        "use of 'text/final_norm' at 'text/x'",
    ]
    alone = replace(without_component(description, "vision"))
    assert faults(alone, objects) == []
    assert sum(one.startswith("parameter 'vision/") for one in QWEN3_5.passed_over(alone)) == 41


def test_the_architecture_is_that_of_the_text_class() -> None:
    description, _ = small()
    assert architecture_of(description) is QWEN3_5
    for other in (["Qwen3_5ForConditionalGeneration"], ["LlamaForCausalLM"], "Qwen3_5ForCausalLM", None, []):
        assert architecture_of(with_config(description, "text/architectures", other)) is None
