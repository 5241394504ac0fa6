"""Objects that are no model of the architecture: each fault names the object, or the parameter left without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from schemas.errors import ArchitectureError, Fault
from schemas.registry import Format
from tests.architectures.models import DENSE_27B, NVFP4_27B, QWEN3_5, Model, few_layers, model

FP32, BF16, Q4 = Format.FP32, Format.BF16, Format.Q4G64_F16S


def faults(wrong: Model) -> tuple[Fault, ...]:
    with pytest.raises(ArchitectureError) as raised:
        wrong.describe()
    return raised.value.faults


def at(whole: Model, name: str) -> str:
    (found,) = [one.at for one in whole.tensors if one.name == name]
    return found


@pytest.mark.parametrize(
    "name",
    [
        "text/layers/0/gdn/unheard_of",
        "text/layers/4/input_norm",
        "text/layers/03/input_norm",
        "text/layers/3/gdn/output",
        "text/layers/0/mlp/gate_up",
        "text/layers/0/attention/qkv",
        "text/layers/0/attention/query_key_value",
        "text/layers/0/moe/experts/6/gate",
        "mtp/layers/0/input_norm",
        "mtp/layer/input_scale_divisor",
        "vision/layers/0/attention/query_key",
        "vision/layers/0/attention/input_projection/input_scale_divisor",
        "dflash/layers/0/attention_conv/base_kernel",
        "dflash2/final_norm",
        "proposal/head",
        "text/layers/3/attention/unheard_of/input_scale_divisor",
        "text/layers/0/attention/input_projection/input_scale_divisor",
        "elsewhere",
        "",
    ],
)
def test_a_name_that_the_architecture_does_not_know(name: str) -> None:
    message = f"object {name!r}: the architecture has no such object in a model of these configs"
    assert faults(few_layers().with_tensor(name, (2048,), BF16)) == (Fault("/objects/new", message),)


@pytest.mark.parametrize(
    ("name", "shape", "expected"),
    [
        ("text/final_norm", (2047,), [2048]),
        ("text/final_norm", (), [2048]),
        ("text/layers/3/attention/query_key_gate_value", (9217, 2048), [9216, 2048]),
        ("text/layers/3/attention/query_key_gate_value", (2048, 9216), [9216, 2048]),
        ("text/layers/0/gdn/a_b_projection", (64, 2048, 1), [64, 2048]),
        ("text/layers/0/moe/routed_down", (6, 2048, 512), [12288, 512]),
        ("text/draft_head_token_ids", (131071,), [131072]),
        ("dflash/feature_projection", (2048, 2048), [2048, 4096]),
    ],
)
def test_a_shape_that_does_not_fit_the_configs(name: str, shape: tuple[int, ...], expected: list[int]) -> None:
    plain = few_layers()
    message = f"object {name!r}: expected the shape {expected}, as the configs have it, found {list(shape)}"
    assert faults(plain.changed(name, lambda one: replace(one, shape=shape))) == (Fault(at(plain, name), message),)


@pytest.mark.parametrize(
    ("name", "format", "expected"),
    [
        ("text/layers/0/gdn/a_log", BF16, "FP32"),
        ("text/layers/0/gdn/dt_bias", BF16, "FP32"),
        ("text/layers/0/gdn/convolution", FP32, "BF16"),
        ("text/layers/0/input_norm", FP32, "BF16"),
        ("vision/position_embedding", Q4, "BF16"),
        ("vision/layers/0/attention/qkv_bias", FP32, "BF16"),
        ("text/draft_head_token_ids", FP32, "I32"),
    ],
)
def test_a_format_other_than_the_fixed_one(name: str, format: Format, expected: str) -> None:
    plain = few_layers()
    message = f"object {name!r}: expected format {expected}, found {format}"
    assert faults(plain.changed(name, lambda one: replace(one, format=format))) == (Fault(at(plain, name), message),)


def missing(*names: str) -> tuple[Fault, ...]:
    return tuple(Fault("/objects", f"no object holds the parameter {name!r}") for name in names)


def test_parameters_without_an_object_are_all_named() -> None:
    assert faults(few_layers().without("text/final_norm$")) == missing("text/final_norm")
    assert faults(few_layers().without("text/layers/2/moe/routed_down")) == missing(
        *(f"text/layers/2/moe/experts/{expert}/down" for expert in range(6))
    )
    p = "dflash/layers/0/attention/"
    assert faults(few_layers().without(f"{p}query_key_value")) == missing(
        *(f"{p}{name}" for name in ("query", "key", "value", "context_key", "context_value"))
    )
    assert faults(few_layers().without("text/draft_head$")) == missing("proposal/head")
    assert faults(few_layers().without("text/draft_head_token_ids")) == missing("proposal/token_ids")


def test_no_more_faults_are_listed_than_can_be_read() -> None:
    found = faults(replace(model(DENSE_27B), tensors=()))
    assert len(found) == 1001
    assert found[-1] == Fault("", "and 420 more faults"), "1420 parameters, for there is no proposal"


def test_a_parameter_held_twice() -> None:
    twice = few_layers().with_tensor("text/layers/3/attention/query", (4096, 2048), Q4)
    message = (
        "object 'text/layers/3/attention/query': holds 'text/layers/3/attention/query', which "
        "'text/layers/3/attention/query_key_gate_value' already does"
    )
    assert faults(twice) == (Fault("/objects/new", message),)


def test_more_ids_than_the_vocabulary_has() -> None:
    def long(name: str) -> Callable[[Model], Model]:
        return lambda one: one.changed(name, lambda tensor: replace(tensor, shape=(248321, *tensor.shape[1:])))

    wrong = long("text/draft_head")(long("text/draft_head_token_ids")(few_layers()))
    message = "object 'text/draft_head': expected at most 248320 rows, as many as the vocabulary has, found 248321"
    assert faults(wrong) == (Fault(at(wrong, "text/draft_head"), message),)


SCALAR = "text/layers/1/mlp/down_projection/input_scale_divisor"


@pytest.mark.parametrize(("shape", "format"), [((1,), FP32), ((), BF16)])
def test_a_divisor_that_is_no_fp32_scalar(shape: tuple[int, ...], format: Format) -> None:
    plain = model(NVFP4_27B)
    wrong = plain.changed(SCALAR, lambda one: replace(one, shape=shape, format=format))
    message = f"object {SCALAR!r}: expected a scalar of format FP32, found {list(shape)} of {format}"
    assert faults(wrong) == (Fault(at(plain, SCALAR), message),)


def test_a_divisor_of_what_is_not_nvfp4() -> None:
    plain = model(NVFP4_27B)
    wrong = plain.changed("text/layers/1/mlp/down", lambda one: replace(one, format=BF16))
    message = f"object {SCALAR!r}: divides 'text/layers/1/mlp/down', expected to be held in NVFP4, found BF16"
    assert faults(wrong) == (Fault(at(plain, SCALAR), message),)


def test_resources_that_are_missing_or_unknown() -> None:
    plain = few_layers()
    wrong = replace(plain, resources=(*plain.resources[1:5], "frontend/tokenizer.model", "chat_template.jinja"))
    assert faults(wrong) == (
        Fault(
            "/resources", "the architecture has no resource 'frontend/tokenizer.model' in a model of these components"
        ),
        Fault("/resources", "the architecture has no resource 'chat_template.jinja' in a model of these components"),
        Fault("/resources", "no resource 'frontend/tokenizer.json', which text needs as 'tokenizer.json'"),
        Fault(
            "/resources",
            "no resource 'frontend/video_preprocessor_config.json', which vision needs as "
            "'video_preprocessor_config.json'",
        ),
    )


def test_resources_of_a_component_that_is_left_out() -> None:
    plain = few_layers()
    wrong = replace(plain.less("vision"), resources=plain.resources)
    assert faults(wrong) == tuple(
        Fault("/resources", f"the architecture has no resource 'frontend/{name}' in a model of these components")
        for name in ("preprocessor_config.json", "video_preprocessor_config.json")
    )


def test_all_faults_come_at_once() -> None:
    wrong = few_layers().without("text/final_norm$").with_tensor("other", (), BF16)
    wrong = wrong.changed("text/token_embedding", lambda one: replace(one, shape=(1, 1)))
    assert len(faults(replace(wrong, resources=wrong.resources[1:]))) == 4


def test_configs_of_what_was_never_published() -> None:
    for model_id, offered in (
        ("qwen3.5-9b", ("text",)),
        ("qwen3.6-27b", ("text", "dflash")),
        ("qwen3.6-27b", ("more",)),
    ):
        with pytest.raises(ArchitectureError) as raised:
            QWEN3_5.published_configs(model_id, offered)
        assert repr(model_id if model_id == "qwen3.5-9b" else offered[-1]) in str(raised.value.faults[0])
