"""The five targets in framing 3: lengths and counts of the whole models, payloads of the miniatures in all framings."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from benchmarks.checkpoints import write_header
from schemas.registry import Format
from tests.cli.commands import Argument, answered, succeeded
from tests.processor_time import processor_seconds
from tests.targets.framing_3_files import StoredModel, read_model_files
from tests.targets.sizes import MOE
from tests.targets.targets import IDS
from workers.engine.container.placement import UnplacedResource, UnplacedTensor, place
from workers.engine.miniature import Miniature, write_miniature
from workers.engine.miniature.resources import resource_files
from workers.engine.miniature.target_checkpoints import target_checkpoints
from workers.engine.plan import Plan, plan_conversion
from workers.engine.recipe.adaptation import adapt_recipe_text
from workers.engine.recipe.inventory import load_inventory
from workers.engine.recipe.load import load_recipe
from workers.engine.recipe.registered import load_registered, registered_text
from workers.engine.sources.roots import ANYWHERE

RESOURCE_BYTES = {"qwen3.6": 12_834_216, "qwen3.8": 12_837_937}
PAYLOAD_BYTES = {
    "qwen3.6-27b.groupwise-int": 17_495_190_528,
    "qwen3.6-27b.nvfp4": 18_323_855_872,
    "qwen3.6-35b-a3b.groupwise-int": 22_783_095_296,
    "qwen3.8-27b.groupwise-int": 18_210_355_968,
    "qwen3.8-27b.nvfp4": 21_492_515_584,
}
EXPERTS = "qwen3.6-35b-a3b.groupwise-int"
PLAN_SECONDS = 2.0


@pytest.mark.parametrize("id", IDS)
def test_payloads_have_the_published_lengths(id: str) -> None:
    inventory = load_inventory(load_registered(id).target or "")
    total = RESOURCE_BYTES[id[:7]]
    sizes = [total - len(inventory.resources) + 1, *[1] * (len(inventory.resources) - 1)]
    resources = [UnplacedResource(name, size) for name, size in zip(inventory.resources, sizes, strict=True)]
    tensors = [UnplacedTensor(one.name, one.shape, Format(one.format)) for one in inventory.tensors]
    assert place([*resources, *tensors])[-1].end == PAYLOAD_BYTES[id]


@pytest.fixture(scope="module")
def experts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sources of 35B-A3B at their full size, in holes, with a tokenizer of as many tokens as the real one's."""
    folder = tmp_path_factory.mktemp("experts")
    s = {**MOE, "vN": 16, "chosen": 8}
    places = {}
    for source, checkpoint in target_checkpoints(EXPERTS, s).items():
        places[source] = folder / source
        places[source].mkdir()
        tensors = {name: (str(one.dtype_name), one.shape) for name, one in checkpoint.headers.items()}
        write_header(places[source] / "model.safetensors", tensors)
        (places[source] / "config.json").write_text(json.dumps(checkpoint.config))
    for name, text in resource_files(s).items():
        (places["base"] / name).write_text(text)
    places["ranking"] = folder / "ranking.i64"
    places["ranking"].write_bytes(bytes(8 * s["vocab"]))
    return places


def test_planning_35b_in_framing_3_takes_less_than_two_seconds(
    experts: dict[str, Path], record_property: Callable[[str, object], None]
) -> None:
    def planned() -> Plan:
        return plan_conversion(load_recipe(text, where="recipe"), experts, roots=ANYWHERE)

    text = _pinned(experts["base"])
    seconds = processor_seconds(planned, enough=PLAN_SECONDS)
    record_property("plan_seconds", seconds)
    assert seconds < PLAN_SECONDS
    plan = planned()
    assert plan.arrangement.description is not None
    assert len(plan.arrangement.description.bindings) == 32_713
    assert len(plan.arrangement.description.uses) == 32_184
    assert plan.framing == 3
    assert plan.execution.verdict == "loads and runs"
    assert [one.name for one in plan.objects] == [
        *load_inventory("qwen3.6-35b-a3b/groupwise-int").resources,
        *(one.name for one in load_inventory("qwen3.6-35b-a3b/groupwise-int").tensors),
    ]


def _pinned(base: Path) -> str:
    """The registered recipe with the hashes of these resources."""
    resources = {one.name: base / (one.file or "") for one in load_registered(EXPERTS).resources}
    pins = {name: sha256(path.read_bytes()).hexdigest() for name, path in resources.items()}
    return adapt_recipe_text(registered_text(EXPERTS), where=EXPERTS, id=f"{EXPERTS}.holes", let={}, pins=pins)


@pytest.fixture(scope="module", params=IDS)
def miniature(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Miniature:
    return write_miniature(request.param, tmp_path_factory.mktemp("miniature") / "sources")


def given(miniature: Miniature) -> list[Argument]:
    sources = [word for name, place in miniature.places.items() for word in ("--source", f"{name}={place}")]
    return [miniature.recipe, *sources]


def test_every_framing_holds_the_same_payloads(miniature: Miniature, tmp_path: Path) -> None:
    """Framing 2's are held to the page by test_payloads; here framing 1, and framing 3 whole and in parts."""
    older = {}
    for framing in ("1", "2"):
        out = tmp_path / f"{framing}.ninfer"
        succeeded("convert", *given(miniature), "--framing", framing, "--out", out)
        planned = answered("plan", *given(miniature), "--framing", framing)
        content = out.read_bytes()[planned["payload_offset"] :]
        older[framing] = {one["name"]: _cut(content, one) for one in planned["objects"]}
    assert older["1"] == older["2"]
    for options in ([], ["--part-bytes", str(_part_bytes(miniature))]):
        folder = tmp_path / f"parts{len(options)}"
        folder.mkdir()
        succeeded("convert", *given(miniature), *options, "--out", folder / "a.ninfer")
        stored = read_model_files(folder / "a.ninfer")
        assert (len(stored.files) > 1) == bool(options)
        assert {one["id"]: stored.payload(one["id"]) for one in stored.directory["objects"]} == older["2"]
        _check_whole(stored)
        succeeded("verify", folder / "a.ninfer")
        succeeded("verify", folder / "a.ninfer", "--recipe", given(miniature)[0], *given(miniature)[1:])


def _cut(content: bytes, one: dict[str, Any]) -> bytes:
    return content[one["offset"] : one["offset"] + one["bytes"]]


def _part_bytes(miniature: Miniature) -> int:
    """So few that there are some parts, and enough for the directory."""
    planned = answered("plan", *given(miniature))
    least = int(planned["payload_offset"])
    return least + max(4096, (int(planned["file_bytes"]) - least) // 3)


def _check_whole(stored: StoredModel) -> None:
    """Every parameter is bound to as many elements as its object or ranges have, and every object is reached."""
    sizes = {one["id"]: one for one in stored.directory["objects"]}
    reached = set()
    for binding in stored.directory["bindings"].values():
        names = [binding["object"]] if "object" in binding else [part["object"] for part in binding["parts"]]
        reached |= set(names)
    for use in stored.directory["uses"]:
        reached |= {one["object"] for one in use.get("auxiliaries", {}).values()}
    for component in stored.directory["components"].values():
        reached |= set(component.get("resources", {}).values())
    assert reached == set(sizes)
