"""A small form of a target, from files to a verified artifact."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from schemas.errors import PlanError
from tests.engine.conversions import SILENT, write_checkpoint
from tests.targets.targets import Target, small
from workers.engine.convert import convert
from workers.engine.plan import Plan, plan_conversion
from workers.engine.sources.roots import ANYWHERE
from workers.engine.verify import Coverage

BF16_ONE = 0x3F80


def write_sources(target: Target, folder: Path) -> dict[str, Path]:
    """The BF16 checkpoint, its config and resources, and the ranking of a target of one checkpoint."""
    recipe, base = target.recipe, folder / "base"
    base.mkdir()
    generator = np.random.default_rng(3)
    words = {
        name: generator.integers(BF16_ONE, BF16_ONE + 0x100, one.shape, np.uint16)
        for name, one in target.headers["base"].items()
    }
    tensors = {name: ("BF16", one.shape, one.astype("<u2").tobytes()) for name, one in words.items()}
    write_checkpoint(base / "model.safetensors", tensors)
    (base / "config.json").write_text(json.dumps(recipe.sources["base"].config))
    for resource in recipe.resources:
        assert resource.file is not None
        (base / resource.file).write_text("{}")
    special = {"49": {"special": True}, "48": {"special": False}}
    (base / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": special}))
    counts = np.arange(target.sizes["vocab"], dtype="<i8")[::-1].copy()
    counts[target.sizes["domain"] :] = 0
    (folder / "ranking").write_bytes(counts.tobytes())
    return {"base": base, "ranking": folder / "ranking"}


def plan(target: Target, places: dict[str, Path]) -> Plan:
    return plan_conversion(target.recipe, places, roots=ANYWHERE)


def test_a_small_target_converts_and_verifies(tmp_path: Path) -> None:
    target = small("qwen3.8-27b.groupwise-int")
    planned = plan(target, write_sources(target, tmp_path))
    assert planned.unused == ()
    assert planned.warnings == ()
    out = tmp_path / "out.ninfer"
    report = convert(planned, out, coverage=Coverage.FULL, threads=2, observers=SILENT)
    assert out.stat().st_size == planned.arrangement.file_bytes
    assert [one.name for one in report.objects] == [one.name for one in planned.objects]
    ids = next(one for one in planned.objects if one.name == "text/draft_head_token_ids")
    start = planned.arrangement.payload_offset + ids.offset
    # counts fall with the id, so the first 31 are taken and the special one is forced in
    assert np.frombuffer(out.read_bytes()[start:][: ids.bytes], "<i4").tolist() == [*range(31), 49]


def test_another_config_is_refused_by_its_member(tmp_path: Path) -> None:
    target = small("qwen3.8-27b.groupwise-int")
    places = write_sources(target, tmp_path)
    config = json.loads((places["base"] / "config.json").read_text())
    config["text_config"]["rms_norm_eps"] = 1e-5
    (places["base"] / "config.json").write_text(json.dumps(config))
    with pytest.raises(PlanError, match=r"expected 1e-06, found 1e-05") as caught:
        plan(target, places)
    assert [fault.at for fault in caught.value.faults] == ["/sources/base/config/text_config/rms_norm_eps"]


def test_the_resources_of_a_finetune_are_not_those_that_qwen36_pins(tmp_path: Path) -> None:
    target = small("qwen3.6-27b.groupwise-int")
    with pytest.raises(PlanError, match="5f9e4d4901a92b99") as caught:
        plan(target, write_sources(target, tmp_path))
    assert [fault.at for fault in caught.value.faults] == [f"/resources/{index}" for index in range(6)]
