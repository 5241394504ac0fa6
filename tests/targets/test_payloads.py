"""Miniatures of the five targets, from files on disk to artifacts, every payload byte of which is derived once more.

The derivation shares nothing with the product: tensors are read by the safetensors library, `values` does in numpy what
targets.md says of each object, and the oracle encodes and lays out the words. Of the page's transforms this covers

* gate and up, a and b, and router and shared gate one below the other; the routed experts reshaped, and the three
  layers whose routed_down has six bits
* q_proj split head by head into query and gate, in rows of BF16, of NVFP4 codes and scales, of FP8 codes and scales;
  query with key and gate with value, and all four in one parent, in text and MTP
* in_proj_qkv cut in two, and joined with z; conv1d without its middle axis, transposed; A_log and dt_bias widened
* the patch embedding reshaped; the merger; weights, biases and norms of vision
* the draft head's ids, chosen from the first of six rows of counts and the special tokens, and lm_head gathered by them
* NVFP4 codes, scales and divisors copied, parents fused; the rank-0 scalar after each matrix
* row-scaled FP8 copied, and made of the base's embedding by its profile; what 3.8 takes from the quantized checkpoint
* DFlash: fused query, key and value, and gate and up
* the six resources, byte for byte
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.cli.commands import Argument, answered, succeeded
from tests.oracle.draft_ids import by_the_page
from tests.targets import payloads, values
from tests.targets.checkpoint_words import read_words
from tests.targets.targets import IDS
from workers.engine.miniature import Miniature, write_miniature

RESOURCES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "generation_config.json",
    "preprocessor_config.json",
    "video_preprocessor_config.json",
)
AT_LEAST = {"qwen3.6-27b.nvfp4": 450, "qwen3.6-35b-a3b.groupwise-int": 600}
"""Tensors that an artifact has, so that a comparison of few would show; the others have 100."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file, and where it holds which object."""

    content: bytes
    objects: list[dict[str, Any]]
    payload_offset: int

    def payload(self, one: dict[str, Any]) -> bytes:
        start = self.payload_offset + one["offset"]
        return self.content[start : start + one["bytes"]]


def made_of(miniature: Miniature, folder: Path) -> Artifact:
    """The artifact that the command makes of a miniature as it lies on disk."""
    out = folder / "out.ninfer"
    sources = [word for name, place in miniature.places.items() for word in ("--source", f"{name}={place}")]
    given: list[Argument] = [miniature.recipe, *sources, "--framing", "2"]
    succeeded("convert", *given, "--out", out)
    planned = answered("plan", *given)
    return Artifact(out.read_bytes(), planned["objects"], planned["payload_offset"])


def draft_ids(miniature: Miniature) -> npt.NDArray[np.int32]:
    """The ids that the page's steps choose."""
    s = miniature.let
    first_row = np.frombuffer(miniature.places["ranking"].read_bytes(), "<i8")[: s["vocab"]]
    added = json.loads((miniature.places["base"] / "tokenizer_config.json").read_text())["added_tokens_decoder"]
    forced = [int(id) for id, token in added.items() if token["special"]]
    return np.array(by_the_page(first_row[: s["domain"]].tolist(), forced, s["take"]), np.int32)


@pytest.mark.parametrize("id", IDS)
def test_every_payload_byte_is_what_page_and_oracle_give(id: str, tmp_path: Path) -> None:
    miniature = write_miniature(id, tmp_path / "miniature")
    artifact = made_of(miniature, tmp_path)
    checkpoints = {name: read_words(place) for name, place in miniature.places.items() if place.is_dir()}
    expected = values.target_objects(id, checkpoints, draft_ids(miniature), miniature.let)
    resources, tensors = artifact.objects[: len(RESOURCES)], artifact.objects[len(RESOURCES) :]
    assert [one["name"] for one in resources] == [f"frontend/{file}" for file in RESOURCES]
    for file, one in zip(RESOURCES, resources, strict=True):
        assert artifact.payload(one) == (miniature.places["base"] / file).read_bytes(), file
    assert {one["name"] for one in tensors} == set(expected)
    assert len(tensors) >= AT_LEAST.get(id, 100)
    for one in tensors:
        made = expected[one["name"]]
        assert one["shape"] == payloads.shape(one["format"], made), one["name"]
        assert artifact.payload(one) == payloads.payload(one["format"], made), one["name"]
