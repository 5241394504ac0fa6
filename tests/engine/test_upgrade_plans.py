"""What an upgrade of each registered target will write, at full size, of files that are mostly holes."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from benchmarks.sparse_checkpoint import TARGET, FullSize, write_full_size
from schemas.errors import ArchitectureError, UpgradeError, VerificationError
from schemas.recipe.expanded import ExpandedRecipe
from schemas.registry import FORMATS
from schemas.storage_layouts import payload
from tests.architectures.models import (
    DENSE_27B,
    DENSE_38,
    MOE_35B,
    NVFP4_27B,
    NVFP4_38,
    TARGETS,
    checkpoint_27b,
    described,
    dflash2_objects,
    model_with_dflash2,
)
from tests.engine.upgrades import RESOURCES, planned, write_old
from workers.engine.container.arrangement import Arrangement
from workers.engine.container.directory import Framing, Identity, ResourceObject, SingleFileFraming, TensorObject
from workers.engine.container.model_description import ActivationPolicy, ModelDescription
from workers.engine.packaging import Packaging
from workers.engine.plan import plan_conversion
from workers.engine.recipe.adaptation import adapt_recipe_text
from workers.engine.recipe.inventory import InventoryTensor, load_inventory
from workers.engine.recipe.load import load_recipe
from workers.engine.recipe.registered import registered_text
from workers.engine.sources.roots import ANYWHERE
from workers.engine.upgrade.dflash2 import dflash2_tensors
from workers.engine.upgrade.plan import TEMPLATE, UpgradeOptions, UpgradePlan

A16, A8, A4 = ActivationPolicy.A16_ONLY, ActivationPolicy.ALLOW_A8, ActivationPolicy.ALLOW_A4
USES: dict[str, dict[ActivationPolicy, int]] = {
    DENSE_27B: {A16: 785},
    NVFP4_27B: {A16: 300, A4: 485},
    MOE_35B: {A16: 32_184},
    DENSE_38: {A16: 785},
    NVFP4_38: {A16: 271, A8: 346, A4: 168},
}
USES_WITH_DFLASH2: dict[str, dict[ActivationPolicy, int]] = {
    DENSE_38: {A16: 844},
    NVFP4_38: {A16: 329, A8: 347, A4: 168},
}
"""container-v3.md, section 9."""
DFLASH2 = tuple(
    InventoryTensor(name, shape, format, FORMATS[format].layout) for name, shape, format in dflash2_objects()
)
DIVISORS = {NVFP4_27B: 247, NVFP4_38: 112}


def old(
    path: Path, target: str, framing: SingleFileFraming = Framing.TWO, *, tensors: tuple[InventoryTensor, ...] = ()
) -> Arrangement:
    """Writes a file of a target; other tensors than those of its inventory where some are given."""
    inventory = load_inventory(target)
    identity = Identity(inventory.model_id, inventory.weights_id)
    return write_old(path, framing, identity, tensors or inventory.tensors)


def described_by(plan: UpgradePlan) -> ModelDescription:
    assert plan.arrangement.description is not None
    return plan.arrangement.description


def root(plan: UpgradePlan) -> dict[str, object]:
    found: dict[str, object] = json.loads(plan.arrangement.directory)
    return found


def policies(description: ModelDescription) -> Counter[ActivationPolicy | None]:
    return Counter(use.policy for use in description.uses)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "old.ninfer"


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_becomes_what_its_inventory_means(file: Path, target: str) -> None:
    before = old(file, target)
    plan = planned(file)
    description = described_by(plan)
    assert description == described(target)
    assert policies(description) == USES[target]
    assert len({str(use.auxiliaries) for use in description.uses if use.auxiliaries}) == DIVISORS.get(target, 0)
    assert plan.arrangement.objects == before.objects
    assert plan.arrangement.payload_bytes == before.payload_bytes
    assert [one.name for one in plan.arrangement.slices] == [None]
    model_id, weights_id = target.split("/")
    assert root(plan)["metadata"] == {"name": model_id}
    assert root(plan)["provenance"] == {
        "converter": "ninforge",
        "upgraded_from": {"version": 2, "model_id": model_id, "weights_id": weights_id},
    }
    assert plan.execution.verdict == "loads and runs"


@pytest.mark.parametrize("target", [DENSE_27B, MOE_35B])
def test_a_file_of_framing_1_is_taken_for_one_of_integers_in_groups(file: Path, target: str) -> None:
    old(file, target, Framing.ONE)
    plan = planned(file)
    assert described_by(plan) == described(target)
    origin = {"version": 1, "model_id": target.split("/", maxsplit=1)[0], "weights_id": "groupwise-int"}
    assert root(plan)["provenance"] == {"converter": "ninforge", "upgraded_from": origin}


@pytest.mark.parametrize("target", [DENSE_38, NVFP4_38])
def test_1190_objects_are_taken_in_any_order(file: Path, target: str) -> None:
    tensors = [*load_inventory(target).tensors, *DFLASH2]
    shuffled = np.random.default_rng(5).permutation(len(tensors))
    before = old(file, target, tensors=tuple(tensors[index] for index in shuffled))
    plan = planned(file)
    assert len(plan.arrangement.objects) == 1190
    assert plan.arrangement.objects == before.objects
    description, expected = described_by(plan), model_with_dflash2(target).describe()
    assert description == expected
    assert list(description.components) == ["text", "vision", "mtp", "dflash2"]
    assert policies(description) == USES_WITH_DFLASH2[target]


def test_the_objects_of_dflash2_are_those_of_the_page() -> None:
    assert set(dflash2_tensors()) == set(DFLASH2)
    assert len(dflash2_tensors()) == 66
    sizes = [payload(one.format, one.shape, where=one.name).bytes for one in dflash2_tensors()]
    assert sum(sizes) == 2_226_792_960


def test_an_upgrade_says_what_a_direct_conversion_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sources").mkdir()
    full_size = write_full_size(tmp_path / "sources")
    recipe = complete(full_size, monkeypatch)
    direct = plan_conversion(recipe, full_size.places, packaging=Packaging(3), roots=ANYWHERE).arrangement
    old(tmp_path / "old.ninfer", DENSE_27B)
    plan = planned(tmp_path / "old.ninfer")
    assert plan.arrangement.description == direct.description
    assert plan.arrangement.objects == direct.objects
    assert plan.arrangement.payload_bytes == direct.payload_bytes
    said, said_directly = root(plan), json.loads(direct.directory)
    del said["provenance"], said_directly["provenance"]
    assert said == said_directly


def complete(full_size: FullSize, monkeypatch: pytest.MonkeyPatch) -> ExpandedRecipe:
    """Gives the checkpoint a whole config, and it and the old file the same resources, such as an engine takes. Returns
    the recipe for them."""
    (full_size.base / "config.json").write_text(json.dumps(checkpoint_27b()))
    special = (full_size.base / "tokenizer_config.json").read_bytes()
    first = min(map(int, json.loads(special)["added_tokens_decoder"]))
    monkeypatch.setitem(RESOURCES, "frontend/tokenizer_config.json", special)
    monkeypatch.setitem(RESOURCES, "frontend/tokenizer.json", json.dumps({"model": {"vocab": [""] * first}}).encode())
    for name, content in RESOURCES.items():
        (full_size.base / name.removeprefix("frontend/")).write_bytes(content)
    pins = {name: sha256(content).hexdigest() for name, content in RESOURCES.items()}
    text = adapt_recipe_text(registered_text(TARGET), where=TARGET, id="adapted", let={}, pins=pins)
    return load_recipe(text, where="adapted")


def test_a_new_template_comes_last_and_the_old_bytes_stay_as_a_gap(file: Path) -> None:
    before = old(file, DENSE_27B)
    template = b"{# another #}"
    plan = planned(file, UpgradeOptions(chat_template=template))
    *kept, last = plan.arrangement.objects
    assert kept == [one for one in before.objects if one.name != TEMPLATE]
    assert isinstance(last, ResourceObject)
    assert (last.name, last.offset % 256, last.bytes) == (TEMPLATE, 0, len(template))
    assert 0 <= last.offset - before.payload_bytes < 256
    assert plan.arrangement.payload_bytes == last.offset + len(template)
    assert described_by(plan) == described(DENSE_27B)


@pytest.mark.parametrize(("template", "message"), [(b"", "empty"), (b"abc\xff", "0xff at byte 3")])
def test_a_template_that_cannot_be_one_is_refused(file: Path, template: bytes, message: str) -> None:
    old(file, DENSE_27B)
    with pytest.raises(UpgradeError, match=message):
        planned(file, UpgradeOptions(chat_template=template))


def test_every_difference_is_told_at_once(file: Path) -> None:
    first, second, third, *rest = load_inventory(DENSE_27B).tensors
    wider = replace(second, shape=(second.shape[0] + 1, *second.shape[1:]))
    stranger = replace(third, name="text/stranger")
    old(file, DENSE_27B, tensors=(*rest, wider, stranger))
    with pytest.raises(UpgradeError) as refused:
        planned(file)
    told = {fault.message for fault in refused.value.faults}
    assert told == {
        f"the target has {first.name!r}, which the file does not hold",
        f"the target has {third.name!r}, which the file does not hold",
        f"the target has {second.name!r} as {second}, found {wider}",
        "the target has no object 'text/stranger'",
    }


def test_part_of_dflash2_is_told_as_what_is_missing(file: Path) -> None:
    old(file, DENSE_38, tensors=(*load_inventory(DENSE_38).tensors, *dflash2_tensors()[1:]))
    with pytest.raises(UpgradeError, match=f"{dflash2_tensors()[0].name!r}, which the file does not hold"):
        planned(file)


def test_dflash2_is_no_part_of_other_models(file: Path) -> None:
    old(file, DENSE_27B, tensors=(*load_inventory(DENSE_27B).tensors, *dflash2_tensors()))
    with pytest.raises(UpgradeError) as refused:
        planned(file)
    assert len(refused.value.faults) == 66


def test_a_model_that_is_not_registered_is_told_with_those_that_are(file: Path) -> None:
    inventory = load_inventory(DENSE_27B)
    write_old(file, Framing.TWO, Identity("qwen9", "nvfp4"), inventory.tensors[:1])
    with pytest.raises(UpgradeError, match=r"/identity: expected one of qwen3\.6-27b/.* found qwen9/nvfp4"):
        planned(file)


@pytest.mark.parametrize("word", [b"\0\0\0\0", b"\0\0\x80\x7f", b"\0\0\x80\xbf", b"\x01\0\x80\x7f"])
def test_a_divisor_must_be_finite_and_above_zero(file: Path, word: bytes) -> None:
    before = old(file, NVFP4_27B)
    scalar = next(one for one in before.objects if one.name.endswith("/input_scale_divisor"))
    overwrite(file, before.payload_offset + scalar.offset, word)
    with pytest.raises(VerificationError, match=f"{scalar.name}.*expected a finite divisor above zero"):
        planned(file)


def test_ids_of_tokens_must_be_distinct(file: Path) -> None:
    before = old(file, DENSE_27B)
    ids = next(one for one in before.objects if one.name == "text/draft_head_token_ids")
    assert isinstance(ids, TensorObject)
    overwrite(file, before.payload_offset + ids.offset, bytes(8))
    with pytest.raises(VerificationError, match="distinct"):
        planned(file)


def test_resources_that_an_engine_refuses_are_told_before_anything_is_copied(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RESOURCES, "frontend/tokenizer.json", b"[]")
    old(file, DENSE_27B)
    with pytest.raises(ArchitectureError, match=r"tokenizer\.json"):
        planned(file)


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("tokenizer.json", b'{"model": {"vocab": {"a": %s}}}', "an integer of more digits than can be read"),
        ("tokenizer_config.json", b'{"added_tokens_decoder": {"%s": {}}}', "expected ids under added_tokens_decoder"),
        ("generation_config.json", b'{"eos_token_id": %s}', "an integer of more digits than can be read"),
        ("generation_config.json", b'{"eos_token_id": "%s"}', "expected ids of tokens"),
        ("preprocessor_config.json", b'{"patch_size": "%s"}', "the patch_size of the vision config"),
    ],
)
def test_numbers_of_any_length_in_resources_are_faults_and_told_of_shortly(
    file: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, found: str
) -> None:
    monkeypatch.setitem(RESOURCES, f"frontend/{name}", content % (b"9" * 5000))
    old(file, DENSE_27B)
    with pytest.raises(ArchitectureError, match=found) as raised:
        planned(file)
    assert len(str(raised.value)) < 2000


def overwrite(file: Path, position: int, content: bytes) -> None:
    with file.open("r+b") as opened:
        opened.seek(position)
        opened.write(content)
