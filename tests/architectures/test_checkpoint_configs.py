"""Component configs from config.json: container-v3.md, 6, "When deriving from a checkpoint"."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from schemas.errors import ArchitectureError, Fault
from tests.architectures.models import (
    QWEN3_5,
    checkpoint_27b,
    checkpoint_35b,
    checkpoint_dflash,
    checkpoint_dflash2,
    documents,
)
from tests.architectures.section6 import CONFIGS, TEXT_27B

Document = dict[str, Any]


BASE = ("text", "vision", "mtp")


def derive(offered: tuple[str, ...], base: Document, draft: Document | None = None) -> Any:
    return QWEN3_5.component_configs(offered, documents(offered, base, draft or {}))


def faults(offered: tuple[str, ...], base: Document, draft: Document | None = None) -> list[tuple[str, str]]:
    """Pointer and message of every fault."""
    with pytest.raises(ArchitectureError) as raised:
        derive(offered, base, draft)
    return [(fault.at, fault.message) for fault in raised.value.faults]


def changed(document: Document, pointer: str, value: object) -> Document:
    """A copy with the member at a JSON pointer set."""
    copy = deepcopy(document)
    *path, last = pointer.split("/")[1:]
    place = copy
    for name in path:
        place = place[name]
    place[last] = value
    return copy


def cut(document: Document, pointer: str) -> Document:
    """A copy without the member at a JSON pointer, which is there."""
    copy = deepcopy(document)
    *path, last = pointer.split("/")[1:]
    place = copy
    for name in path:
        place = place[name]
    del place[last]
    return copy


@pytest.mark.parametrize("model_id", CONFIGS)
def test_published_configs_are_the_tables_of_section_6_in_their_order(model_id: str) -> None:
    offered = tuple(CONFIGS[model_id])
    # As JSON, so that 1 is not 1.0 and the order counts.
    assert json.dumps(QWEN3_5.published_configs(model_id, offered)) == json.dumps(CONFIGS[model_id])


@pytest.mark.parametrize(
    ("model_id", "base", "draft"),
    [
        ("qwen3.6-27b", checkpoint_27b(), None),
        ("qwen3.8-27b", checkpoint_27b(), checkpoint_dflash2()),
        ("qwen3.6-35b-a3b", checkpoint_35b(), checkpoint_dflash()),
    ],
)
def test_checkpoints_give_the_tables_of_section_6(model_id: str, base: Document, draft: Document | None) -> None:
    assert json.dumps(derive(tuple(CONFIGS[model_id]), base, draft)) == json.dumps(CONFIGS[model_id])


def test_components_come_in_one_order_and_text_always() -> None:
    base = checkpoint_27b()
    found = QWEN3_5.component_configs(("mtp", "vision"), {"text": base, "vision": base, "mtp": base})
    assert list(found) == ["text", "vision", "mtp"]


def test_a_text_only_checkpoint_has_its_members_at_the_root() -> None:
    root = checkpoint_27b()["text_config"] | {"architectures": ["Qwen3_5ForCausalLM"], "tie_word_embeddings": False}
    assert derive(("text",), root) == {"text": TEXT_27B}
    at = [pointer for pointer, _ in faults(("text",), changed(root, "/head_dim", 0))]
    assert at == ["/head_dim"]


def test_reals_are_the_nearest_of_binary32() -> None:
    derived = derive(("text",), changed(checkpoint_27b(), "/text_config/rms_norm_eps", 1e-5))
    assert json.dumps(derived["text"]["rms_norm_eps"]) == "9.999999747378752e-06"
    assert json.dumps(derive(("text",), checkpoint_27b())["text"]["rms_norm_eps"]) == "9.999999974752427e-07"
    theta = derive(("text",), changed(checkpoint_27b(), "/text_config/rope_parameters/rope_theta", 16777217))
    assert json.dumps(theta["text"]["rope_parameters"]["rope_theta"]) == "16777216.0"


def test_members_that_are_left_out_have_their_defaults() -> None:
    base = checkpoint_27b()
    for pointer in ("rms_norm_eps", "rope_parameters/rope_theta", "rope_parameters/partial_rotary_factor"):
        assert derive(("text",), cut(base, f"/text_config/{pointer}"))["text"] == TEXT_27B
    assert derive(("text",), cut(base, "/text_config/full_attention_interval"))["text"] == TEXT_27B


def test_members_that_must_hold_may_be_absent() -> None:
    base = checkpoint_27b()
    for name in (
        "hidden_act",
        "attention_bias",
        "attn_output_gate",
        "mamba_ssm_dtype",
        "mtp_num_hidden_layers",
        "mtp_use_dedicated_embeddings",
        "model_type",
        "rope_parameters/mrope_interleaved",
        "rope_parameters/rope_type",
    ):
        base = cut(base, f"/text_config/{name}")
    for name in ("in_channels", "hidden_act", "deepstack_visual_indexes", "out_hidden_size", "model_type"):
        base = cut(base, f"/vision_config/{name}")
    draft = checkpoint_dflash2()
    for name in ("hidden_act", "attention_bias", "is_causal", "hidden_size", "vocab_size", "num_target_layers"):
        draft = cut(draft, f"/{name}")
    assert derive(tuple(CONFIGS["qwen3.8-27b"]), base, draft) == CONFIGS["qwen3.8-27b"]


@pytest.mark.parametrize(
    ("pointer", "value", "expected"),
    [
        ("/text_config/hidden_act", "gelu", '"silu"'),
        ("/text_config/attention_bias", True, "false"),
        ("/text_config/attention_bias", 0, "false"),
        ("/text_config/attn_output_gate", False, "true"),
        ("/text_config/mamba_ssm_dtype", "bfloat16", '"float32"'),
        ("/text_config/mtp_num_hidden_layers", 2, "1"),
        ("/text_config/mtp_num_hidden_layers", True, "1"),
        ("/text_config/mtp_use_dedicated_embeddings", True, "false"),
        ("/text_config/rope_parameters/rope_type", "yarn", '"default"'),
        ("/text_config/rope_parameters/factor", 4.0, "1"),
        ("/text_config/rope_parameters/mrope_interleaved", False, "true"),
        ("/text_config/model_type", "qwen3_5_moe_text", '"qwen3_5_text" or "qwen3_5"'),
        ("/vision_config/in_channels", 1, "3"),
        ("/vision_config/hidden_act", "silu", '"gelu_pytorch_tanh"'),
        ("/vision_config/deepstack_visual_indexes", [8], "[]"),
        ("/vision_config/out_hidden_size", 2048, "5120"),
        ("/vision_config/model_type", "qwen3_5_moe", '"qwen3_5" or "qwen3_5_vision"'),
    ],
)
def test_members_that_must_hold(pointer: str, value: object, expected: str) -> None:
    component = pointer.split("_", maxsplit=1)[0][1:]
    message = f"{component}: expected {expected}, found {json.dumps(value)}"
    assert faults(BASE, changed(checkpoint_27b(), pointer, value)) == [(pointer, message)]


@pytest.mark.parametrize(
    ("pointer", "value", "expected"),
    [
        ("/hidden_act", "gelu", '"silu"'),
        ("/attention_bias", True, "false"),
        ("/is_causal", True, "false"),
        ("/dflash_config/is_causal", True, "false"),
        ("/hidden_size", 2048, "5120"),
        ("/vocab_size", 1000, "248320"),
        ("/num_target_layers", 40, "64"),
        ("/rope_parameters/rope_type", "yarn", '"default"'),
        ("/model_type", "llama", '"qwen3"'),
        ("/architectures", ["DFlashDraftModel"], '["DFlash2DraftModel"]'),
    ],
)
def test_members_of_a_draft_that_must_hold(pointer: str, value: object, expected: str) -> None:
    message = f"dflash2: expected {expected}, found {json.dumps(value)}"
    draft = changed(checkpoint_dflash2(), pointer, value)
    assert faults(("text", "dflash2"), checkpoint_27b(), draft) == [(pointer, message)]


@pytest.mark.parametrize(
    "name",
    ["architectures", "model_type", "head_dim", "rms_norm_eps", "layer_types", "sliding_window", "dflash_config"],
)
def test_a_draft_has_no_defaults(name: str) -> None:
    found = faults(("text", "dflash2"), checkpoint_27b(), cut(checkpoint_dflash2(), f"/{name}"))
    assert [at for at, _ in found] == [f"/{name}"]
    found = faults(("text", "dflash2"), checkpoint_27b(), cut(checkpoint_dflash2(), "/rope_parameters/rope_theta"))
    assert [at for at, _ in found] == ["/rope_parameters/rope_theta"]


@pytest.mark.parametrize(
    "name",
    [
        "hidden_size",
        "vocab_size",
        "num_hidden_layers",
        "max_position_embeddings",
        "num_attention_heads",
        "num_key_value_heads",
        "head_dim",
        "linear_num_key_heads",
        "linear_key_head_dim",
        "linear_num_value_heads",
        "linear_value_head_dim",
        "linear_conv_kernel_dim",
        "intermediate_size",
    ],
)
@pytest.mark.parametrize("value", [0, -1, 2**32, 1.0, True, "8", None])
def test_sizes_are_positive_integers_of_32_bits(name: str, value: object) -> None:
    pointer = f"/text_config/{name}"
    ((at, message), *_) = [
        fault for fault in faults(("text",), changed(checkpoint_27b(), pointer, value)) if fault[0] == pointer
    ]
    assert (at, message) == (pointer, f"text: expected an integer from 1 to 4294967295, found {json.dumps(value)}")
    missing = faults(("text",), cut(checkpoint_27b(), pointer))
    assert (pointer, "text: expected an integer from 1 to 4294967295, found no such member") in missing


@pytest.mark.parametrize("value", [0, -1e-6, 1e39, 1e-60, 10**400, float("inf"), float("nan"), True, "1e-6", None])
def test_reals_are_positive_and_within_binary32(value: object) -> None:
    pointer = "/text_config/rms_norm_eps"
    ((at, message),) = faults(("text",), changed(checkpoint_27b(), pointer, value))
    assert at == pointer
    assert message.startswith("text: expected a positive number in the range of binary32, found ")


def test_the_older_way_to_tell_rotary_parameters() -> None:
    base = checkpoint_27b()
    rope = base["text_config"].pop("rope_parameters")
    base["text_config"] |= {
        "rope_theta": 10000000.0,
        "partial_rotary_factor": 0.25,
        "rope_scaling": {"type": "default", "mrope_interleaved": True, "mrope_section": rope["mrope_section"]},
    }
    assert derive(("text",), base)["text"] == TEXT_27B
    both = changed(base, "/text_config/rope_parameters", rope)
    assert derive(("text",), both)["text"] == TEXT_27B, "told twice, and the same"
    for pointer, value in (
        ("/text_config/rope_theta", 1e6),
        ("/text_config/partial_rotary_factor", 0.5),
        ("/text_config/rope_scaling/mrope_section", [10, 11, 11]),
    ):
        name = pointer.rpartition("/")[2]
        told = f"as /text_config/rope_parameters/{name} says, found {json.dumps(value)}"
        expected = [(pointer, f"text: expected {json.dumps(rope[name])}, {told}")]
        assert faults(("text",), changed(both, pointer, value)) == expected
    wrong = changed(base, "/text_config/rope_scaling", "linear")
    assert [at for at, _ in faults(("text",), wrong)] == [
        "/text_config/rope_scaling",
        "/text_config/rope_parameters/mrope_section",
    ]
    assert [at for at, _ in faults(("text",), changed(base, "/text_config/rope_scaling/type", "yarn"))] == [
        "/text_config/rope_scaling/type"
    ]
    assert [at for at, _ in faults(("text",), changed(base, "/text_config/rope_scaling/mrope_section", [1, 2]))] == [
        "/text_config/rope_scaling/mrope_section"
    ]


def test_layer_types_are_listed_or_follow_an_interval() -> None:
    base = cut(checkpoint_27b(), "/text_config/full_attention_interval")
    listed = ["linear_attention", "full_attention"] * 32
    for document in (
        changed(base, "/text_config/layer_types", listed),
        changed(base, "/text_config/full_attention_interval", 2),
        changed(changed(base, "/text_config/layer_types", listed), "/text_config/full_attention_interval", 2),
    ):
        assert derive(("text",), document)["text"]["layer_types"] == listed
    contradicting = changed(
        changed(base, "/text_config/layer_types", listed), "/text_config/full_attention_interval", 4
    )
    assert faults(("text",), contradicting) == [
        ("/text_config/layer_types", "text: expected full attention every 4 layers, as its interval says")
    ]
    for wrong in (0, True, 2.0, "4", None):
        found = faults(("text",), changed(base, "/text_config/full_attention_interval", wrong))
        assert found[0][0] == "/text_config/full_attention_interval"


@pytest.mark.parametrize(
    "listed", [["full_attention"] * 63, ["full_attention"] * 63 + ["sliding_attention"], "full", [1]]
)
def test_layer_types_are_one_of_two_for_each_layer(listed: object) -> None:
    base = cut(checkpoint_27b(), "/text_config/full_attention_interval")
    assert {at for at, _ in faults(("text",), changed(base, "/text_config/layer_types", listed))} == {
        "/text_config/layer_types"
    }


def test_tied_embeddings_are_told_at_the_root_or_in_the_text_config() -> None:
    base = checkpoint_27b()
    inner = cut(changed(base, "/text_config/tie_word_embeddings", True), "/tie_word_embeddings")
    assert derive(("text",), inner)["text"]["tie_word_embeddings"] is True
    assert [at for at, _ in faults(("text",), changed(base, "/text_config/tie_word_embeddings", True))] == [
        "/text_config/tie_word_embeddings"
    ]
    assert [at for at, _ in faults(("text",), changed(base, "/tie_word_embeddings", 0))] == ["/tie_word_embeddings"]
    assert [at for at, _ in faults(("text",), cut(base, "/tie_word_embeddings"))] == [
        "/text_config/tie_word_embeddings"
    ]


@pytest.mark.parametrize(
    "classes",
    [["Qwen3_5ForConditionalGeneration", "Other"], ["Qwen3NextForCausalLM"], [], "Qwen3_5ForCausalLM", [None]],
)
def test_class_names_that_are_not_of_the_architecture(classes: object) -> None:
    ((at, message),) = faults(("text",), changed(checkpoint_27b(), "/architectures", classes))
    assert at == "/architectures"
    assert message.startswith(
        "text: expected one of [Qwen3_5ForConditionalGeneration], [Qwen3_5ForCausalLM], [Qwen3_5Moe"
    )


def test_class_names_that_are_missing_or_contradict_each_other() -> None:
    base = checkpoint_27b()
    assert faults(("text",), cut(base, "/architectures")) == [
        ("/architectures", "text: expected the name of a class, found none")
    ]
    inner = changed(base, "/text_config/architectures", ["Qwen3_5ForCausalLM"])
    assert derive(("text",), inner)["text"] == TEXT_27B
    assert derive(("text",), cut(inner, "/architectures"))["text"] == TEXT_27B
    assert faults(("text",), changed(base, "/text_config/architectures", ["Qwen3_5MoeForCausalLM"])) == [
        (
            "/text_config/architectures",
            "text: expected a class of the same family as /architectures, found one of another",
        )
    ]


def test_attention_members_are_there_for_layers_or_mtp_that_need_them() -> None:
    base = changed(checkpoint_27b(), "/text_config/full_attention_interval", 100)
    alone, mtp = derive(("text",), base)["text"], derive(("text", "mtp"), base)["text"]
    assert set(mtp) - set(alone) == {"num_attention_heads", "num_key_value_heads", "head_dim", "rope_parameters"}
    full = derive(("text",), changed(checkpoint_27b(), "/text_config/full_attention_interval", 1))["text"]
    assert set(TEXT_27B) - set(full) == {name for name in TEXT_27B if name.startswith("linear_")}


def test_a_draft_without_sliding_layers_keeps_no_window() -> None:
    draft = changed(checkpoint_dflash2(), "/layer_types", ["full_attention"] * 5)
    assert "sliding_window" not in derive(("text", "dflash2"), checkpoint_27b(), draft)["dflash2"]


def test_sections_and_documents_that_are_not_there() -> None:
    base = checkpoint_27b()
    assert {at for at, _ in faults(BASE, cut(base, "/vision_config"))} >= {"/vision_config", "/vision_config/depth"}
    assert faults(("text",), changed(base, "/text_config", []))[0] == (
        "/text_config",
        "text: expected an object, found []",
    )
    with pytest.raises(ArchitectureError) as raised:
        QWEN3_5.component_configs(("text", "dflash", "decision"), {"text": base})
    assert raised.value.faults == (
        Fault("", "decision: the architecture has no such component"),
        Fault("", "dflash: no config.json is given for it"),
    )


def test_all_faults_come_at_once() -> None:
    base = changed(checkpoint_27b(), "/text_config/hidden_act", "gelu")
    base = changed(changed(base, "/text_config/head_dim", 0), "/vision_config/depth", "27")
    draft = changed(checkpoint_dflash2(), "/dflash_config/mask_token_id", 248320)
    assert [at for at, _ in faults((*BASE, "dflash2"), base, draft)] == [
        "/text_config/hidden_act",
        "/text_config/head_dim",
        "/vision_config/depth",
        "/dflash_config/mask_token_id",
    ]
