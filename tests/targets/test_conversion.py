"""Conversions of miniatures that must be refused, and what lifts a refusal."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from schemas.errors import PlanError
from tests.cli.commands import Argument, refused, succeeded
from tests.engine.conversions import write_checkpoint
from tests.targets.checkpoint_words import flip_lowest_bit
from workers.engine.miniature import Miniature, write_miniature
from workers.engine.plan import plan_conversion
from workers.engine.recipe.load import read_recipe
from workers.engine.recipe.registered import load_registered
from workers.engine.sources.roots import ANYWHERE


def sources_of(miniature: Miniature, **others: Path) -> list[Argument]:
    """The places of a miniature as options, some of them others."""
    places = {**miniature.places, **others}
    return [word for name, place in places.items() for word in ("--source", f"{name}={place}")]


@pytest.fixture(scope="module")
def quantized(tmp_path_factory: pytest.TempPathFactory) -> Miniature:
    return write_miniature("qwen3.6-27b.nvfp4", tmp_path_factory.mktemp("quantized"))


@pytest.fixture
def plain(tmp_path: Path) -> Miniature:
    return write_miniature("qwen3.6-27b.groupwise-int", tmp_path / "plain")


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
def test_words_that_must_agree_and_do_not_are_named(quantized: Miniature, tensor: str, tmp_path: Path) -> None:
    name = f"model.language_model.{tensor}"
    changed = tmp_path / "quantized"
    shutil.copytree(quantized.places["quantized"], changed)
    flip_lowest_bit(changed / "model.safetensors", name)
    out = tmp_path / "out.ninfer"
    sources = sources_of(quantized, quantized=changed)
    assert f"quantized:{name}" in refused("convert", quantized.recipe, *sources, "--out", out, "--framing", "2")
    assert not out.exists()


def test_another_config_is_refused_by_its_member(plain: Miniature) -> None:
    file = plain.places["base"] / "config.json"
    config = json.loads(file.read_text())
    config["text_config"]["rms_norm_eps"] = 1e-5
    file.write_text(json.dumps(config))
    with pytest.raises(PlanError, match=r"expected 1e-06, found 1e-05") as caught:
        plan_conversion(read_recipe(plain.recipe), plain.places, roots=ANYWHERE)
    assert [fault.at for fault in caught.value.faults] == ["/sources/base/config/text_config/rms_norm_eps"]


def test_a_tensor_that_no_target_knows_is_refused(plain: Miniature) -> None:
    base = plain.places["base"]
    index_file = base / "model.safetensors.index.json"
    index = json.loads(index_file.read_text())
    stranger = "model.visual.adapter.weight"
    write_checkpoint(base / "extra.safetensors", {stranger: ("BF16", (1,), b"\0\0")})
    index["weight_map"][stranger] = "extra.safetensors"
    index_file.write_text(json.dumps(index))
    with pytest.raises(PlanError, match=r"model\.visual\.adapter\.weight"):
        plan_conversion(read_recipe(plain.recipe), plain.places, roots=ANYWHERE)


def test_the_pins_of_qwen36_refuse_a_finetunes_resources_until_the_recipe_is_adapted(
    plain: Miniature, tmp_path: Path
) -> None:
    registered = load_registered(plain.id, let=plain.let)
    with pytest.raises(PlanError, match="5f9e4d4901a92b99") as caught:
        plan_conversion(registered, plain.places, roots=ANYWHERE)
    assert [fault.at for fault in caught.value.faults] == [f"/resources/{index}" for index in range(6)]
    own, out = tmp_path / "own.yaml", tmp_path / "out.ninfer"
    sizes = [word for name, value in plain.let.items() for word in ("--let", f"{name}={value}")]
    succeeded("recipe", "adapt", plain.id, "--id", "own", *sizes, *sources_of(plain), "--out", own)
    succeeded("convert", own, *sources_of(plain), "--out", out, "--framing", "2")
    assert own.read_text() == plain.recipe.read_text().replace(f"id: {plain.id}.miniature\n", "id: own\n")


def test_another_chat_template_than_the_adapted_recipes_is_refused(plain: Miniature) -> None:
    (plain.places["base"] / "chat_template.jinja").write_text("{{ messages }}")
    with pytest.raises(PlanError) as caught:
        plan_conversion(read_recipe(plain.recipe), plain.places, roots=ANYWHERE)
    assert [fault.at for fault in caught.value.faults] == ["/resources/2"]
