"""Small forms of the five targets, from files to verified artifacts."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from schemas.errors import PlanError, WordError
from schemas.recipe.expanded import Quantization
from tests.engine.conversions import SILENT, write_checkpoint
from tests.targets.headers import Headers
from tests.targets.targets import IDS, Target, small
from tests.targets.values import Checkpoint
from tests.targets.words import random_words
from workers.engine.convert import convert
from workers.engine.plan import Plan, plan_conversion
from workers.engine.sources.roots import ANYWHERE
from workers.engine.verify import Coverage

SEED = 11
SPECIAL = 49


def with_free_sources(target: Target) -> Target:
    """The target for any resources and for quantized checkpoints without a config of their own."""
    recipe = target.recipe
    sources = {
        name: dataclasses.replace(source, quantization=Quantization.NONE) for name, source in recipe.sources.items()
    }
    resources = tuple(dataclasses.replace(resource, sha256=None) for resource in recipe.resources)
    return dataclasses.replace(target, recipe=dataclasses.replace(recipe, sources=sources, resources=resources))


def write_sources(target: Target, folder: Path) -> dict[str, Path]:
    """Checkpoints in which tensors of the same name and type agree, the base's config and resources, and a ranking."""
    places = {}
    for source, headers in target.headers.items():
        places[source] = folder / source
        places[source].mkdir()
        write_words(places[source], headers, random_words(headers, SEED))
    base = places["base"]
    (base / "config.json").write_text(json.dumps(target.recipe.sources["base"].config))
    for resource in target.recipe.resources:
        assert resource.file is not None
        (base / resource.file).write_text("{}")
    added = {str(SPECIAL): {"special": True}, "48": {"special": False}}
    (base / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": added}))
    counts = np.arange(target.sizes["vocab"], dtype="<i8")[::-1].copy()
    counts[target.sizes["domain"] :] = 0
    places["ranking"] = folder / "ranking"
    places["ranking"].write_bytes(counts.tobytes())
    return places


def write_words(place: Path, headers: Headers, words: Checkpoint) -> None:
    """A checkpoint of one file."""
    tensors = {name: (one.dtype_name, one.shape, words[name].tobytes()) for name, one in headers.items()}
    write_checkpoint(place / "model.safetensors", tensors)


def plan(target: Target, places: dict[str, Path]) -> Plan:
    return plan_conversion(target.recipe, places, roots=ANYWHERE)


@pytest.mark.parametrize("id", IDS)
def test_a_small_form_converts_and_verifies(id: str, tmp_path: Path) -> None:
    target = with_free_sources(small(id))
    planned = plan(target, write_sources(target, tmp_path))
    assert planned.warnings == ()
    out = tmp_path / "out.ninfer"
    report = convert(planned, out, coverage=Coverage.FULL, threads=2, observers=SILENT)
    assert out.stat().st_size == planned.arrangement.file_bytes
    assert [one.name for one in report.objects] == [one.name for one in planned.objects]
    ids = next(one for one in planned.objects if one.name == "text/draft_head_token_ids")
    start = planned.arrangement.payload_offset + ids.offset
    # counts fall with the id, so the first ones are taken, and the special one is forced in
    expected = [*range(target.sizes["take"] - 1), SPECIAL]
    assert np.frombuffer(out.read_bytes()[start:][: ids.bytes], "<i4").tolist() == expected


@pytest.mark.parametrize(
    "tensor",
    [
        "layers.0.linear_attn.in_proj_z.weight_global_scale",
        "layers.27.self_attn.v_proj.weight_global_scale",
        "layers.27.self_attn.k_proj.input_global_scale",
        "layers.5.mlp.up_proj.input_global_scale",
        "layers.23.self_attn.q_proj.weight",
        "layers.7.self_attn.o_proj.weight",
        "layers.4.linear_attn.out_proj.weight",
    ],
)
def test_words_that_must_agree_and_do_not_are_named(tensor: str, tmp_path: Path) -> None:
    target = with_free_sources(small("qwen3.6-27b.nvfp4"))
    places = write_sources(target, tmp_path)
    name = f"model.language_model.{tensor}"
    words = dict(random_words(target.headers["quantized"], SEED))
    words[name] = words[name].copy()
    words[name].view(np.uint8).reshape(-1)[0] ^= 1
    write_words(places["quantized"], target.headers["quantized"], words)
    with pytest.raises(WordError, match=f"quantized:{name}".replace(".", r"\.")):
        convert(plan(target, places), tmp_path / "out.ninfer", coverage=None, threads=2, observers=SILENT)


def test_another_config_is_refused_by_its_member(tmp_path: Path) -> None:
    target = small("qwen3.8-27b.groupwise-int")
    places = write_sources(target, tmp_path)
    config = json.loads((places["base"] / "config.json").read_text())
    config["text_config"]["rms_norm_eps"] = 1e-5
    (places["base"] / "config.json").write_text(json.dumps(config))
    with pytest.raises(PlanError, match=r"expected 1e-06, found 1e-05") as caught:
        plan(target, places)
    assert [fault.at for fault in caught.value.faults] == ["/sources/base/config/text_config/rms_norm_eps"]


def test_a_tensor_that_no_target_knows_is_refused(tmp_path: Path) -> None:
    target = small("qwen3.8-27b.groupwise-int")
    places = write_sources(target, tmp_path)
    stranger = {**target.headers["base"], "model.visual.adapter.weight": target.headers["base"]["lm_head.weight"]}
    write_words(places["base"], stranger, random_words(stranger, SEED))
    with pytest.raises(PlanError, match=r"model\.visual\.adapter\.weight"):
        plan(target, places)


def test_the_resources_of_a_finetune_are_not_those_that_qwen36_pins(tmp_path: Path) -> None:
    target = small("qwen3.6-27b.groupwise-int")
    with pytest.raises(PlanError, match="5f9e4d4901a92b99") as caught:
        plan(target, write_sources(target, tmp_path))
    assert [fault.at for fault in caught.value.faults] == [f"/resources/{index}" for index in range(6)]
