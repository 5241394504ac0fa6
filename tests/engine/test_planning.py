"""Plans: what is fixed before a weight is read, and every fault of recipe and sources at once."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schemas.errors import ConfigFault, PlanError
from tests.engine.conversions import recipe, write_checkpoint
from workers.engine.packaging import Packaging
from workers.engine.plan import Plan, plan_conversion
from workers.engine.sources.roots import ANYWHERE

INVENTORIES = files("workers.engine.recipe") / "inventories"
RESOURCE_BYTES = (12807982, 16718, 7764, 202, 390, 385)
SOURCE_DTYPE = {"BF16": ("BF16", 2), "FP32": ("F32", 4), "I32": ("I32", 4)}


def words(*shape: int) -> tuple[str, tuple[int, ...], bytes]:
    return "BF16", shape, np.ones(shape, "<u2").tobytes()


def object_of(name: str, *shape: int, **members: Any) -> dict[str, Any]:
    return {"name": name, "shape": list(shape), "format": "BF16", "value": {"tensor": name}, **members}


def plan(folder: Path, objects: list[dict[str, Any]], tensors: dict[str, Any], **members: Any) -> Plan:
    place = write_checkpoint(folder / "model.safetensors", tensors)
    return plan_conversion(recipe(objects, **members), {"base": place}, roots=ANYWHERE)


def sparse_checkpoint(path: Path, tensors: dict[str, tuple[str, list[int], int]]) -> Path:
    """A safetensors file whose data is a hole."""
    entries, end = {}, 0
    for name, (dtype, shape, size) in tensors.items():
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    header = json.dumps(entries).encode()
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + end)
    return path


def test_the_published_artifact_is_planned_to_the_byte(tmp_path: Path) -> None:
    inventory = json.loads((INVENTORIES / "qwen3.6-27b.groupwise-int.json").read_text())
    objects: list[dict[str, Any]] = []
    resources: list[dict[str, Any]] = []
    tensors: dict[str, tuple[str, list[int], int]] = {}
    sizes = iter(RESOURCE_BYTES)
    for one in inventory["objects"]:
        if one["kind"] == "resource":
            file = f"resource{len(resources)}"
            with (tmp_path / file).open("wb") as hole:
                hole.truncate(next(sizes))
            resources.append({"name": one["name"], "source": "base", "file": file})
            continue
        dtype, width = SOURCE_DTYPE.get(one["format"], ("BF16", 2))
        tensors[one["name"]] = (dtype, one["shape"], int(np.prod(one["shape"], dtype=np.int64)) * width)
        encode = {} if one["format"] in SOURCE_DTYPE else {"encode": "MAXABS_F16_RECIP_RNE_V1"}
        made = {key: one[key] for key in ("name", "shape", "format", "layout")}
        objects.append({**made, **encode, "value": {"tensor": one["name"]}})
    place = sparse_checkpoint(tmp_path / "model.safetensors", tensors)
    made_of = recipe(objects, resources=resources, model_id=inventory["model_id"], weights_id=inventory["weights_id"])
    planned = plan_conversion(made_of, {"base": place}, packaging=Packaging(1), roots=ANYWHERE)
    document = planned.document()
    assert document.directory_sha256 == "df352a3e3b8555f15fd00d143be213b9e5ff6fb910a1c2390f0785f9a1e2d386"
    assert document.file_bytes == 17495365888
    assert len(document.objects) == 1124
    assert sum(document.bytes_by_format.values()) == 17495365888 - document.payload_offset - gaps(planned)


def gaps(planned: Plan) -> int:
    ends = [0, *(one.offset + one.bytes for one in planned.objects)]
    return sum(one.offset - end for one, end in zip(planned.objects, ends, strict=False))


def test_every_fault_of_the_sources_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"hidden": 3, "deep": {"a": [1]}}))
    sources = {
        "base": {"kind": "checkpoint", "config": {"hidden": 4, "deep": {"a": [2], "b": True}}},
        "other": {"kind": "checkpoint"},
        "ranking": {"kind": "file", "sha256": "0" * 64},
    }
    (tmp_path / "ranking").write_bytes(b"counts")
    place = write_checkpoint(tmp_path / "model.safetensors", {"a": words(2)})
    made = recipe(
        [object_of("a", 2, value={"tensor": "a", "source": "base"})],
        sources=sources,
        resources=[{"name": "r", "source": "base", "file": "absent.json"}],
    )
    places = {"base": place, "ranking": tmp_path / "ranking", "stranger": tmp_path}
    with pytest.raises(PlanError) as raised:
        plan_conversion(made, places, roots=ANYWHERE)
    assert [fault.at for fault in raised.value.faults] == [
        "/sources",
        "/sources/base/config/hidden",
        "/sources/base/config/deep/a",
        "/sources/base/config/deep/b",
        "/sources/other",
        "/sources/ranking",
        "/resources/0",
    ]
    messages = [fault.message for fault in raised.value.faults]
    assert raised.value.faults[1] == ConfigFault(
        "/sources/base/config/hidden",
        "config.json of base: expected 4, found 3",
        source="base",
        member="/hidden",
        difference="expected 4, found 3",
    )
    assert "expected a place, as in other=WHERE, found none" in messages[4]


def test_tensors_that_nothing_uses_are_an_error_unless_a_pattern_covers_them(tmp_path: Path) -> None:
    tensors = {"a": words(2), "b": words(3), "c.d": words(4)}
    with pytest.raises(PlanError) as raised:
        plan(tmp_path, [object_of("a", 2)], tensors)
    assert [fault.message.rpartition("found ")[2] for fault in raised.value.faults] == ["'b'", "'c.d'"]
    sources = {"base": {"kind": "checkpoint", "unused": ["b", "c*", "model.visual.*"]}}
    planned = plan(tmp_path, [object_of("a", 2)], tensors, sources=sources)
    assert planned.unused == (("base", "b"), ("base", "c.d"))
    assert planned.warnings == ("/sources/base/unused/2: the pattern 'model.visual.*' matches no tensor",)


@pytest.mark.parametrize(
    ("members", "found"),
    [
        ({"value": {"tensor": "absent"}}, "absent"),
        ({"shape": [4]}, r"\[2, 3\]"),
        ({"format": "FP32"}, "BF16"),
        ({"value": {"slice": {"tensor": "a"}, "axis": 0, "from": 1, "to": 3}}, "3"),
        ({"value": {"reshape": {"tensor": "a"}, "to": [7]}}, "7"),
        ({"value": {"transpose": {"tensor": "a"}, "axes": [1, 0, 2]}}, r"\[2, 3\]"),
    ],
)
def test_values_that_the_tensors_cannot_give_are_refused(members: dict[str, Any], found: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=found) as raised:
        plan(tmp_path, [object_of("a", 2, 3, **members)], {"a": words(2, 3)})
    assert raised.value.faults[0].at.startswith("/objects/0")


def test_a_plan_knows_whether_it_was_made_with_the_same_files(tmp_path: Path) -> None:
    first = plan(tmp_path, [object_of("a", 2)], {"a": words(2)})
    again = plan_conversion(first.recipe, {"base": tmp_path / "model.safetensors"}, roots=ANYWHERE)
    assert again.fingerprint == first.fingerprint
    changed = plan(tmp_path, [object_of("a", 2)], {"a": words(2)})
    assert changed.fingerprint != first.fingerprint
