"""The five registered targets as documents: what they expand to, and what they say beside their objects."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest

from schemas.recipe.expanded import Nonfinite, Quantization, Require
from schemas.registry import FORMATS, EncoderProfile, Format, WordOrigin
from tests.targets.targets import IDS, published, small
from workers.engine.recipe.load import load_recipe
from workers.engine.recipe.registered import load_registered, registered_ids, registered_text

QWEN36 = [id for id in IDS if id.startswith("qwen3.6")]
DENSE_IDS = [id for id in IDS if "27b" in id]
NVFP4_IDS = [id for id in IDS if id.endswith(".nvfp4")]

RESOURCES = {
    "tokenizer.json": "5f9e4d4901a92b997e463c1f46055088b6cca5ca61a6522d1b9f64c4bb81cb42",
    "tokenizer_config.json": "5186f0defcd7f232382c7f0aebcd2252d073bb921ab240e407b7ae8745d2b29b",
    "chat_template.jinja": "e84f32a23fdda27689f868aa4a1a5621f41133e51a48d7f3efcbea2839574259",
    "generation_config.json": "e70c136c1b78ddc1fb0905bac8e733a4dc448d4f852a5dd75143fffc70be550e",
    "preprocessor_config.json": "27225450ac9c6529872ee1924fcb0962ff5634834f817040f444118116f4e516",
    "video_preprocessor_config.json": "7768af27c1fafa9cc9011c1dc20067e03f8915e03b63504550e11d5066986d13",
}


def inventory(id: str) -> list[dict[str, Any]]:
    listed = files("workers.engine.recipe") / "inventories" / f"{id}.json"
    objects: list[dict[str, Any]] = json.loads(listed.read_text(encoding="utf-8"))["objects"]
    return objects


def test_the_targets_are_registered() -> None:
    assert set(IDS) <= set(registered_ids())


@pytest.mark.parametrize("id", IDS)
def test_the_expansion_is_the_inventory_object_for_object(id: str) -> None:
    recipe = load_registered(id)
    made: list[dict[str, Any]] = [
        {"name": one.name, "kind": "resource", "encoding": "raw-bytes-v1"} for one in recipe.resources
    ]
    for one in recipe.objects:
        words = {"shape": list(one.shape), "format": one.format, "layout": one.layout}
        made.append({"name": one.name, "kind": "tensor", **words})
    assert made == inventory(id)
    assert f"{recipe.model_id}.{recipe.weights_id}" == recipe.id == id
    assert recipe.target == f"{recipe.model_id}/{recipe.weights_id}"


@pytest.mark.parametrize("id", IDS)
def test_a_person_can_review_the_text(id: str) -> None:
    lines = registered_text(id).splitlines()
    assert len(lines) <= 200
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize("id", IDS)
def test_a_text_expands_in_a_moment(id: str, record_property: Callable[[str, object], None]) -> None:
    text = registered_text(id)
    started = time.process_time()
    load_recipe(text, where=id)
    seconds = time.process_time() - started
    record_property("seconds", seconds)
    assert seconds < 5


@pytest.mark.parametrize("id", IDS)
def test_words_come_about_as_their_format_wants(id: str) -> None:
    for one in published(id).recipe.objects:
        match one.format:
            case Format.BF16 | Format.FP32 | Format.I32:
                expected: WordOrigin | EncoderProfile = WordOrigin.PRESERVE
            case Format.NVFP4:
                expected = WordOrigin.COPY
            case Format.FP8_E4M3FN_ROW_BF16S if one.name == "text/token_embedding":
                expected = EncoderProfile.FP8_ROW_MAXABS_RECIP_RNE_V1
            case Format.FP8_E4M3FN_ROW_BF16S:
                expected = WordOrigin.COPY
            case _:
                expected = EncoderProfile.MAXABS_F16_RECIP_RNE_V1
        assert one.encode is expected, one.name
        assert one.encode in FORMATS[one.format].encodes
        assert one.nonfinite is Nonfinite.REJECT
        assert (one.require is Require.POSITIVE) == one.name.endswith("/input_scale_divisor")


@pytest.mark.parametrize("id", IDS)
def test_resources_are_the_bases_files_and_those_of_qwen36_are_pinned(id: str) -> None:
    resources = published(id).recipe.resources
    assert [(one.name, one.source, one.file) for one in resources] == [
        (f"frontend/{file}", "base", file) for file in RESOURCES
    ]
    assert [one.sha256 for one in resources] == (list(RESOURCES.values()) if id in QWEN36 else [None] * 6)


@pytest.mark.parametrize("id", DENSE_IDS)
def test_config_members_of_the_dense_models(id: str) -> None:
    assert published(id).recipe.sources["base"].config == {
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "model_type": "qwen3_5",
        "tie_word_embeddings": False,
        "text_config": {
            "num_hidden_layers": 64,
            "full_attention_interval": 4,
            "hidden_size": 5120,
            "intermediate_size": 17408,
            "vocab_size": 248320,
            "num_attention_heads": 24,
            "num_key_value_heads": 4,
            "head_dim": 256,
            "linear_num_key_heads": 16,
            "linear_num_value_heads": 48,
            "linear_key_head_dim": 128,
            "linear_value_head_dim": 128,
            "linear_conv_kernel_dim": 4,
            "mtp_num_hidden_layers": 1,
            "rms_norm_eps": 1e-6,
        },
        "vision_config": {
            "depth": 27,
            "hidden_size": 1152,
            "intermediate_size": 4304,
            "out_hidden_size": 5120,
            "num_heads": 16,
            "patch_size": 16,
            "temporal_patch_size": 2,
            "spatial_merge_size": 2,
            "num_position_embeddings": 2304,
        },
    }


def test_config_members_of_the_mixture_of_experts() -> None:
    assert published("qwen3.6-35b-a3b.groupwise-int").recipe.sources["base"].config == {
        "text_config": {
            "num_hidden_layers": 40,
            "full_attention_interval": 4,
            "hidden_size": 2048,
            "num_attention_heads": 16,
            "num_key_value_heads": 2,
            "head_dim": 256,
            "linear_num_key_heads": 16,
            "linear_num_value_heads": 32,
            "num_experts": 256,
            "num_experts_per_tok": 8,
            "moe_intermediate_size": 512,
            "shared_expert_intermediate_size": 512,
        },
        "vision_config": {"out_hidden_size": 2048},
    }


@pytest.mark.parametrize("id", IDS)
def test_a_small_form_expects_a_small_config_and_makes_no_claim_to_the_target(id: str) -> None:
    target = small(id)
    config: Any = target.recipe.sources["base"].config
    assert config["text_config"]["hidden_size"] == config["vision_config"]["out_hidden_size"] == target.sizes["H"]
    assert config["text_config"]["num_hidden_layers"] == target.sizes["layers"]
    assert target.recipe.let_overridden


@pytest.mark.parametrize("id", IDS)
def test_sources_and_evidence_are_those_of_the_page(id: str) -> None:
    recipe = published(id).recipe
    origins = {source.name: source.origin for source in recipe.sources.values()}
    ranking = origins.pop("ranking")
    assert ranking is not None
    assert ranking.endswith("@fc230ca6eb288d35592c33a185dd70c4ce1b9f80")
    assert (origins, [one.url.removeprefix("https://huggingface.co/") for one in recipe.evidence]) == CITED[id]


Q36 = "hf:Qwen/Qwen3.6-27B@6a9e13bd6fc8f0983b9b99948120bc37f49c13e9"
SCOUT = "rdtand/Qwen3.6-27B-PrismaSCOUT-Blackwell-NVFP4-BF16-vllm"
CITED = {
    "qwen3.6-27b.groupwise-int": ({"base": Q36}, ["neroued/Qwen3.6-27B-NInfer"]),
    "qwen3.6-27b.nvfp4": (
        {"base": Q36, "quantized": f"hf:{SCOUT}@9b5389d4a1e207daab2d47732efea57d7e946dcf"},
        [SCOUT],
    ),
    "qwen3.6-35b-a3b.groupwise-int": (
        {
            "base": "hf:Qwen/Qwen3.6-35B-A3B@995ad96eacd98c81ed38be0c5b274b04031597b0",
            "dflash": "hf:z-lab/Qwen3.6-35B-A3B-DFlash@f181eece646affea2c38b2765f1aaa01a9734ccd",
        },
        ["neroued/Qwen3.6-35B-A3B-NInfer"],
    ),
    "qwen3.8-27b.groupwise-int": ({"base": "hf:Qwen/Qwen3.8-27B"}, ["neroued/Qwen3.8-27B-NInfer"]),
    "qwen3.8-27b.nvfp4": (
        {"base": "hf:Qwen/Qwen3.8-27B", "quantized": "hf:unsloth/Qwen3.8-27B-NVFP4"},
        ["unsloth/Qwen3.8-27B-NVFP4"],
    ),
}


@pytest.mark.parametrize("id", IDS)
def test_quantization_is_claimed_of_quantized_sources_only(id: str) -> None:
    claimed = {one.name: one.quantization for one in published(id).recipe.sources.values()}
    quantized = claimed.pop("quantized", None)
    assert set(claimed.values()) == {Quantization.NONE}
    assert quantized is (Quantization.COMPRESSED_TENSORS if id in NVFP4_IDS else None)
