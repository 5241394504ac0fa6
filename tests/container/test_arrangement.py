from __future__ import annotations

import hashlib
import json
from importlib.resources import files

import pytest

from schemas.errors import ArtifactError, RegistryError
from schemas.registry import Format
from tests.container.samples import IDENTITY, OBJECTS, TEXT_1, TEXT_2
from tests.processor_time import processor_seconds
from workers.engine.container import limits
from workers.engine.container.arrangement import arrange
from workers.engine.container.directory import Framing, Identity, SingleFileFraming
from workers.engine.container.placement import UnplacedObject, UnplacedResource, UnplacedTensor

INVENTORIES = files("workers.engine.recipe") / "inventories"
RESOURCE_BYTES = (12807982, 16718, 7764, 202, 390, 385)


def inventory(name: str) -> tuple[Identity, list[UnplacedObject]]:
    document = json.loads((INVENTORIES / f"{name}.json").read_text())
    lengths = iter(RESOURCE_BYTES)
    objects: list[UnplacedObject] = [
        UnplacedResource(entry["name"], next(lengths))
        if entry["kind"] == "resource"
        else UnplacedTensor(entry["name"], tuple(entry["shape"]), Format(entry["format"]))
        for entry in document["objects"]
    ]
    return Identity(document["model_id"], document["weights_id"]), objects


@pytest.mark.parametrize(("framing", "text"), [(Framing.ONE, TEXT_1), (Framing.TWO, TEXT_2)])
def test_a_small_arrangement_is_what_the_rules_give_by_hand(framing: SingleFileFraming, text: str) -> None:
    arrangement = arrange(framing, IDENTITY, OBJECTS)
    directory = text.encode()
    assert arrangement.directory == directory
    assert arrangement.directory_sha256 == hashlib.sha256(directory).hexdigest()
    assert arrangement.front() == b"NINFER\0" + bytes([framing]) + len(directory).to_bytes(8, "little") + directory
    assert arrangement.payload_offset == 4096
    assert arrangement.file_bytes == 4096 + 1284
    assert [stored.offset for stored in arrangement.objects] == [0, 256, 512, 1280]


def test_resources_follow_one_another_without_a_gap_and_tensors_are_aligned() -> None:
    objects = (UnplacedResource("a", 3), UnplacedResource("b", 254), UnplacedTensor("c", (1,), Format.BF16))
    arrangement = arrange(Framing.TWO, IDENTITY, objects)
    assert [(stored.offset, stored.bytes) for stored in arrangement.objects] == [(0, 3), (3, 254), (512, 2)]


@pytest.mark.parametrize("extra", [0, 1])
def test_a_directory_that_just_fills_a_block_moves_the_payload_only_when_it_grows(extra: int) -> None:
    base = len(arrange(Framing.ONE, Identity("m", None), [UnplacedResource("r", 1)]).front())
    name = "r" * (4096 - base + 1 + extra)
    arrangement = arrange(Framing.ONE, Identity("m", None), [UnplacedResource(name, 1)])
    assert len(arrangement.front()) == 4096 + extra
    assert arrangement.payload_offset == 4096 * (1 + extra)


def test_the_published_directory_and_size_of_qwen36_27b_come_out() -> None:
    identity, objects = inventory("qwen3.6-27b.groupwise-int")
    arrangement = arrange(Framing.ONE, identity, objects)
    assert arrangement.directory_sha256 == "df352a3e3b8555f15fd00d143be213b9e5ff6fb910a1c2390f0785f9a1e2d386"
    assert arrangement.file_bytes == 17495365888


def test_1307_objects_are_arranged_within_50_ms_of_a_core() -> None:
    identity, objects = inventory("qwen3.6-27b.nvfp4")
    assert len(objects) == 1307
    assert processor_seconds(lambda: arrange(Framing.TWO, identity, objects), enough=0.050) < 0.050


ONE = [UnplacedResource("r", 1)]

REFUSED: list[tuple[str, Framing, Identity, list[UnplacedObject], str]] = [
    ("no objects", Framing.TWO, IDENTITY, [], "arrangement: expected at least one object, found none"),
    (
        "empty model_id",
        Framing.ONE,
        Identity("", None),
        [*ONE],
        "model_id: expected a non-empty string, found an empty one",
    ),
    (
        "empty weights_id",
        Framing.TWO,
        Identity("m", ""),
        [*ONE],
        "weights_id: expected a non-empty string, found an empty one",
    ),
    (
        "no weights_id",
        Framing.TWO,
        Identity("m", None),
        [*ONE],
        "weights_id: expected an id, which framing 2 stores, found none",
    ),
    (
        "empty name",
        Framing.TWO,
        IDENTITY,
        [UnplacedResource("", 1)],
        "objects[0], name: expected a non-empty string, found an empty one",
    ),
    (
        "lone surrogate",
        Framing.TWO,
        IDENTITY,
        [UnplacedResource("\ud800", 1)],
        "objects[0], name: expected text that UTF-8 can hold, found '\\ud800'",
    ),
    (
        "repeated name",
        Framing.TWO,
        IDENTITY,
        [UnplacedResource("r", 1), UnplacedTensor("r", (), Format.I32)],
        "objects[1], name: expected a name not used before, found 'r'",
    ),
    (
        "empty resource",
        Framing.TWO,
        IDENTITY,
        [UnplacedResource("r", 0)],
        "object 'r': expected a resource of at least one byte, found 0 bytes",
    ),
    (
        "sum past 64 bits",
        Framing.TWO,
        IDENTITY,
        [UnplacedResource("r", 2**63), UnplacedResource("s", 2**63 - 1)],
        "arrangement: expected a file of at most 18446744073709551615 bytes, found 18446744073709555711",
    ),
]


@pytest.mark.parametrize(
    ("framing", "identity", "objects", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_what_no_directory_may_hold_is_refused(
    framing: SingleFileFraming, identity: Identity, objects: list[UnplacedObject], message: str
) -> None:
    with pytest.raises(ArtifactError) as caught:
        arrange(framing, identity, objects)
    assert str(caught.value) == message


def test_a_shape_that_its_format_does_not_store_is_refused_with_the_object_named() -> None:
    with pytest.raises(RegistryError, match=r"^object 'w': expected rank 2 for Q4G64_F16S, found shape \[3\]$"):
        arrange(Framing.TWO, IDENTITY, [UnplacedTensor("w", (3,), Format.Q4G64_F16S)])


def test_a_directory_too_large_to_be_read_again_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    directory = arrange(Framing.TWO, IDENTITY, OBJECTS).directory
    monkeypatch.setattr(limits, "MAX_JSON_BYTES", len(directory))
    assert arrange(Framing.TWO, IDENTITY, OBJECTS).directory == directory
    monkeypatch.setattr(limits, "MAX_JSON_BYTES", len(directory) - 1)
    with pytest.raises(ArtifactError, match=f"at most {len(directory) - 1} bytes of JSON, found {len(directory)}"):
        arrange(Framing.TWO, IDENTITY, OBJECTS)
