"""The index of a checkpoint in shards: which file in the same folder holds each tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from schemas.errors import SourceError
from workers.engine.sources.json_object import parse_object
from workers.engine.sources.roots import Roots
from workers.engine.sources.source_file import place_words, read_document
from workers.engine.sources.wording import quoted, shown_json

INDEX_NAME = "model.safetensors.index.json"
MAX_INDEX_BYTES = 100_000_000


@dataclass(frozen=True, slots=True)
class CheckpointIndex:
    """The tensors of each shard, both in the index's order. `where` names the index in messages."""

    where: str
    tensors_by_shard: Mapping[str, list[str]]

    def tensor_words(self, tensor: str) -> str:
        return f"{self.where}, tensor {quoted(tensor)}"


def read_index(owner: str, folder: Path, roots: Roots) -> CheckpointIndex:
    """The index in `folder`. `owner` says in messages whose it is: `source base`.

    Raises SourceError where it is no JSON object, larger than MAX_INDEX_BYTES, lacks weight_map, or maps no tensor, and
    where a tensor is mapped to anything but the plain name of a file in the same folder.
    """
    path = folder / INDEX_NAME
    where = place_words(owner, path)
    document = read_document(owner, path, roots, expected="the index of a checkpoint", limit=MAX_INDEX_BYTES)
    members = parse_object(document, where)
    if "weight_map" not in members:
        raise SourceError(where, expected="a member weight_map", found="none of that name")
    weight_map = members["weight_map"]
    if not isinstance(weight_map, dict):
        raise SourceError(where, expected="weight_map as an object", found=shown_json(weight_map))
    if not weight_map:
        raise SourceError(where, expected="at least one tensor in weight_map", found="none")
    tensors_by_shard: dict[str, list[str]] = {}
    index = CheckpointIndex(where, tensors_by_shard)
    for tensor, shard in weight_map.items():
        if not isinstance(shard, str):
            raise SourceError(index.tensor_words(tensor), expected="the name of its shard", found=shown_json(shard))
        if shard in ("", ".", "..") or any(separator in shard for separator in "/\\\0"):
            raise SourceError(
                index.tensor_words(tensor), expected="its shard by the plain name of a file", found=quoted(shard)
            )
        tensors_by_shard.setdefault(shard, []).append(tensor)
    return index
