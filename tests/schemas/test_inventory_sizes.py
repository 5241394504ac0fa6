"""Every object of the five inventories: its pair is legal, its size is the oracle's, and what publishers print of the
whole artifacts comes out."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import pytest

from schemas.registry import Format, Layout, ResourceEncoding, check_pair
from schemas.storage_layouts import ALIGNMENT, payload, up
from tests.oracle import storage_layouts as oracle

INVENTORIES = files("workers.engine.recipe") / "inventories"

RESOURCE_BYTES = dict(
    zip(
        (
            "frontend/tokenizer.json",
            "frontend/tokenizer_config.json",
            "frontend/chat_template.jinja",
            "frontend/generation_config.json",
            "frontend/preprocessor_config.json",
            "frontend/video_preprocessor_config.json",
        ),
        (12807982, 16718, 7764, 202, 390, 385),
        strict=True,
    )
)
"""Lengths of the official Qwen3.6 resources (container.md)."""


@dataclass(frozen=True, slots=True)
class Published:
    """Counts of targets.md, and tensor bytes of container-v3.md section 15 less what those files hold besides."""

    objects: int
    tensor_bytes: int


DFLASH2_BYTES = 2_226_792_960

PUBLISHED = {
    "qwen3.6-27b.groupwise-int": Published(1124, 17_482_342_304),
    # one scalar a use there, one a site here: 485 and 247
    "qwen3.6-27b.nvfp4": Published(1307, 18_310_884_112 - 4 * (485 - 247)),
    "qwen3.6-35b-a3b.groupwise-int": Published(940, 22_770_245_536),
    "qwen3.8-27b.groupwise-int": Published(1124, 20_424_296_864 - DFLASH2_BYTES),
    # 168 scalars there, 112 here
    "qwen3.8-27b.nvfp4": Published(1124, 23_706_400_256 - DFLASH2_BYTES - 4 * (168 - 112)),
}


def inventory(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((INVENTORIES / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def test_the_inventories_are_these_five() -> None:
    assert {file.name.removesuffix(".json") for file in INVENTORIES.iterdir()} == set(PUBLISHED)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_object_has_a_legal_pair_and_the_size_of_the_oracle(name: str) -> None:
    for entry in inventory(name)["objects"]:
        if entry["kind"] == "resource":
            assert ResourceEncoding(entry["encoding"]) is ResourceEncoding.RAW_BYTES
            continue
        format, shape = Format(entry["format"]), tuple(entry["shape"])
        check_pair(format, Layout(entry["layout"]), where=entry["name"])
        assert payload(format, shape, where=entry["name"]).bytes == oracle.payload_bytes(format, shape), entry["name"]


@pytest.mark.parametrize(("name", "published"), PUBLISHED.items())
def test_tensor_bytes_are_those_of_the_published_artifacts(name: str, published: Published) -> None:
    objects = inventory(name)["objects"]
    tensors = [entry for entry in objects if entry["kind"] == "tensor"]
    sizes = [payload(Format(entry["format"]), tuple(entry["shape"]), where=entry["name"]).bytes for entry in tensors]
    assert len(objects) == published.objects
    assert sum(sizes) == published.tensor_bytes


def test_offsets_chain_to_the_published_file() -> None:
    """Sizes and alignments of 1124 objects at once: container.md gives the length of the file and the digest of its
    directory, which spells every offset and size."""
    listed = inventory("qwen3.6-27b.groupwise-int")
    placed, end = [], 0
    for entry in listed["objects"]:
        if entry["kind"] == "resource":
            size, alignment = RESOURCE_BYTES[entry["name"]], ALIGNMENT[ResourceEncoding(entry["encoding"])]
        else:
            size = payload(Format(entry["format"]), tuple(entry["shape"]), where=entry["name"]).bytes
            alignment = ALIGNMENT[Layout(entry["layout"])]
        offset = up(end, alignment)
        placed.append({**entry, "offset": offset, "bytes": size})
        end = offset + size
    directory = {"model_id": listed["model_id"], "objects": placed}
    text = json.dumps(directory, ensure_ascii=False, separators=(",", ":")).encode()
    assert hashlib.sha256(text).hexdigest() == "df352a3e3b8555f15fd00d143be213b9e5ff6fb910a1c2390f0785f9a1e2d386"
    assert up(16 + len(text), 4096) + end == 17_495_365_888
