"""Checkpoints to measure with, and recipes for them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np

from schemas.recipe.expanded import ExpandedRecipe
from schemas.registry import FORMATS, Format
from workers.engine.recipe.load import load_recipe

_DIRECT = {"BF16": "BF16", "FP32": "F32", "I32": "I32"}
_WIDTH = {"BF16": 2, "F32": 4, "I32": 4}


def write_header(path: Path, tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> int:
    """Writes a safetensors file whose data is a hole; returns where the data begins."""
    entries: dict[str, object] = {}
    end = 0
    for name, (dtype, shape) in tensors.items():
        size = prod(shape) * _WIDTH[dtype]
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [end, end + size]}
        end += size
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + end)
    return 8 + len(header)


def trained_words(seed: int) -> bytes:
    """4 Mi BF16 words as trained weights have them."""
    values = np.random.default_rng(seed).standard_normal(4 << 20, dtype=np.float32) * np.float32(0.02)
    return (values.view(np.uint32) >> np.uint32(16)).astype("<u2").tobytes()


def fill(file: BinaryIO, start: int, size: int, words: bytes) -> None:
    """Writes `words` over and over into `size` bytes of a file from byte `start` on."""
    file.seek(start)
    for done in range(0, size, len(words)):
        file.write(words[: size - done])


def recipe_of(
    objects: Iterable[Mapping[str, object]], resources: Iterable[Mapping[str, object]] = ()
) -> ExpandedRecipe:
    """A recipe whose every object is made of the tensor of its own name."""
    document = {
        "recipe": 1,
        "id": "benchmark",
        "revision": 1,
        "model_id": "benchmark",
        "weights_id": "benchmark",
        "sources": {"base": {"kind": "checkpoint"}},
        "evidence": [{"claim": "a benchmark without a claim of quality", "url": "https://example.org/"}],
        "resources": list(resources),
        "objects": [_object(one) for one in objects],
    }
    return load_recipe(json.dumps(document), where="benchmark", let={})


def source_tensor(one: Mapping[str, object]) -> tuple[str, tuple[int, ...]]:
    """Dtype and shape of the tensor that an inventory's object is made of in a benchmark."""
    shape = one["shape"]
    assert isinstance(shape, list)  # noqa: S101 - the inventories are ours
    return _DIRECT.get(str(one["format"]), "BF16"), tuple(shape)


def _object(one: Mapping[str, object]) -> dict[str, object]:
    encode = FORMATS[Format(str(one["format"]))].encodes[0]
    return {
        "name": one["name"],
        "shape": one["shape"],
        "format": one["format"],
        "encode": encode,
        "value": {"tensor": one["name"]},
    }
