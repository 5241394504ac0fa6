"""Registered recipes over checkpoints that say one thing in config.json and another in their tensors."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import PlanError
from tests.engine.conversions import SILENT
from workers.engine.convert import convert
from workers.engine.miniature import Miniature, write_miniature
from workers.engine.plan import Plan, plan_conversion
from workers.engine.recipe.load import read_recipe
from workers.engine.sources.roots import ANYWHERE

NVFP4, MIXED = "qwen3.6-27b.nvfp4", "qwen3.8-27b.nvfp4"
LAYERS = "model.language_model.layers."


@pytest.fixture(scope="module")
def miniatures(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Miniature]:
    return {id: write_miniature(id, tmp_path_factory.mktemp(id)) for id in (NVFP4, MIXED)}


def planned(miniature: Miniature, folder: Path, change: Callable[[Path], None]) -> Plan:
    """A plan over the miniature with a changed copy of its quantized checkpoint."""
    changed = folder / "quantized"
    shutil.copytree(miniature.places["quantized"], changed)
    change(changed)
    return plan_conversion(read_recipe(miniature.recipe), {**miniature.places, "quantized": changed}, roots=ANYWHERE)


def edit(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    """A change of the quantization config."""

    def apply(folder: Path) -> None:
        document = json.loads((folder / "config.json").read_text())
        change(document["quantization_config"])
        (folder / "config.json").write_text(json.dumps(document))

    return apply


def messages(miniature: Miniature, folder: Path, change: Callable[[dict[str, Any]], None]) -> list[str]:
    with pytest.raises(PlanError) as raised:
        planned(miniature, folder, edit(change))
    assert {fault.at for fault in raised.value.faults} == {"/sources/quantized/quantization"}
    return [fault.message for fault in raised.value.faults]


def test_a_layer_that_the_config_has_in_another_group_shows_both_claims(
    miniatures: Mapping[str, Miniature], tmp_path: Path
) -> None:
    """The config says that NVFP4 ends one layer before it does."""

    def change(found: dict[str, Any]) -> None:
        for group in found["config_groups"].values():
            group["targets"] = [target.replace("0|1|2|3|4|5", "0|1|2|3|4") for target in group["targets"]]

    claims = "its tensors say NVFP4, config.json of quantized says 8-bit float, channel (group_0)"
    assert messages(miniatures[MIXED], tmp_path, change) == [
        f"{LAYERS}5.mlp.{linear}_proj: {claims}" for linear in ("down", "gate", "up")
    ]


def test_an_exception_that_the_config_does_not_ignore_shows_both_claims(
    miniatures: Mapping[str, Miniature], tmp_path: Path
) -> None:
    linear = f"{LAYERS}4.linear_attn.out_proj"
    [message] = messages(miniatures[NVFP4], tmp_path, lambda found: found["ignore"].remove(linear))
    group = "4-bit float, tensor_group of 16 (group_0)"
    assert message == f"{linear}: its tensors say not quantized, config.json of quantized says {group}"


def test_a_linear_that_the_config_ignores_shows_both_claims(
    miniatures: Mapping[str, Miniature], tmp_path: Path
) -> None:
    linear = f"{LAYERS}5.linear_attn.out_proj"
    assert messages(miniatures[NVFP4], tmp_path, lambda found: found["ignore"].append(linear)) == [
        f"{linear}: its tensors say NVFP4, config.json of quantized says ignored by '{linear}'"
    ]


def test_another_method_than_the_recipes_is_refused(miniatures: Mapping[str, Miniature], tmp_path: Path) -> None:
    [message] = messages(miniatures[NVFP4], tmp_path, lambda found: found.update(quant_method="modelopt"))
    assert message.endswith("quantization_config, quant_method: expected compressed-tensors, found 'modelopt'")


def test_row_scales_of_one_axis_and_of_two_give_the_same_artifact(
    miniatures: Mapping[str, Miniature], tmp_path: Path
) -> None:
    def flatten(folder: Path) -> None:
        """Every BF16 [N,1] as [N], without moving a byte."""
        file = folder / "model.safetensors"
        data = file.read_bytes()
        start = 8 + int.from_bytes(data[:8], "little")
        header, count = re.subn(rb'(_scale":\{"dtype":"BF16","shape":\[\d+),1\]', rb"\1]  ", compact(data[8:start]))
        assert count > 20
        file.write_bytes(len(header).to_bytes(8, "little") + header + data[start:])

    made = []
    for axes, change in ((2, lambda _: None), (1, flatten)):
        folder = tmp_path / str(axes)
        folder.mkdir()
        plan = planned(miniatures[MIXED], folder, change)
        convert(plan, folder / "out.ninfer", coverage=None, threads=2, observers=SILENT)
        identities = [one for planned_object in plan.objects for one in planned_object.sources]
        scales = [one for one in identities if one.tensor.endswith("weight_scale") and one.dtype == "BF16"]
        assert {len(one.shape) for one in scales} == {axes}
        made.append((folder / "out.ninfer").read_bytes())
    assert made[0] == made[1]


def compact(header: bytes) -> bytes:
    """A safetensors header without spaces within, padded to a multiple of 8."""
    text = json.dumps(json.loads(header), separators=(",", ":")).encode()
    return text.ljust(-(-len(text) // 8) * 8)
