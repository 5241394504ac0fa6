"""Writes checkpoints: one safetensors file, or two shards with an index."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from safetensors import TensorSpec, serialize_file

from workers.engine.miniature.headers import Headers
from workers.engine.miniature.words import Words
from workers.engine.sources.checkpoint import SINGLE_NAME
from workers.engine.sources.checkpoint_index import INDEX_NAME

SHARDS = 2
_SPELLED = {
    "BF16": "bfloat16",
    "F32": "float32",
    "U8": "uint8",
    "F8_E4M3": "float8_e4m3fn",
}

TensorWords = Callable[[str], Words]
"""Gives the words of a tensor by its name."""


def write_single(folder: Path, headers: Headers, words: TensorWords) -> None:
    """Writes model.safetensors."""
    _write_file(folder / SINGLE_NAME, headers, list(headers), words)


def write_sharded(folder: Path, headers: Headers, words: TensorWords) -> None:
    """Writes two shards, between which tensors take turns, and their index."""
    names = list(headers)
    shards = {f"model-{number + 1:05}-of-{SHARDS:05}.safetensors": names[number::SHARDS] for number in range(SHARDS)}
    sizes = [_write_file(folder / shard, headers, held, words) for shard, held in shards.items()]
    shard_of = {name: shard for shard, held in shards.items() for name in held}
    index = {"metadata": {"total_size": sum(sizes)}, "weight_map": {name: shard_of[name] for name in sorted(names)}}
    (folder / INDEX_NAME).write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


def _write_file(path: Path, headers: Headers, names: Sequence[str], words: TensorWords) -> int:
    """Writes the tensors of those names; returns their bytes."""
    held = {name: np.ascontiguousarray(words(name)) for name in names}
    specs = {}
    for name, array in held.items():
        header = headers[name]
        specs[name] = TensorSpec(
            dtype=_SPELLED[header.dtype_name],
            shape=list(header.shape),
            data_ptr=array.ctypes.data,
            data_len=array.nbytes,
        )
    serialize_file(specs, path, {"format": "pt"})
    return sum(array.nbytes for array in held.values())
