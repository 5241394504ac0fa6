"""Qwen3.6-27B at its full size and in its shape, with holes where most of its 55.6 GB are (targets.md).

Headers, index, config and resources are whole. Of each tensor the first and the last row have words, of some layers all
rows; everything else is a hole, which takes no disk and reads as zeros.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from hashlib import sha256
from math import prod
from pathlib import Path

import numpy as np

from benchmarks.checkpoints import fill, trained_words, write_header
from workers.engine.recipe.adaptation import adapt_recipe_text
from workers.engine.recipe.registered import load_registered, registered_text

TARGET = "qwen3.6-27b.groupwise-int"
SHARDS = 15
WORD_BYTES = 2
VOCABULARY, DOMAIN, SPECIAL_TOKENS = 248_320, 248_077, 33
RANKING_ROWS = 6
RESOURCE_BYTES = {
    "tokenizer.json": 12_807_982,
    "tokenizer_config.json": 16_718,
    "chat_template.jinja": 7_764,
    "generation_config.json": 202,
    "preprocessor_config.json": 390,
    "video_preprocessor_config.json": 385,
}
"""Lengths of the official files (container.md, Published figures)."""

_LISTED = Path(__file__).parents[1] / "tests" / "data" / "sources" / "qwen3.6-27b.json"


@dataclass(frozen=True, slots=True)
class FullSize:
    """What a conversion is given: the registered recipe with the hashes of these resources, and its two sources."""

    recipe: Path
    base: Path
    ranking: Path

    @property
    def places(self) -> dict[str, Path]:
        """The sources by their names in the recipe."""
        return {"base": self.base, "ranking": self.ranking}


def write_full_size(folder: Path, *, filled_layers: Collection[int] = ()) -> FullSize:
    """Writes recipe and sources into an empty folder. The tensors of the text layers `filled_layers` are filled."""
    made = FullSize(folder / "recipe.yaml", folder / "base", folder / "ranking.i64")
    made.base.mkdir()
    _write_shards(made.base, tuple(f"model.language_model.layers.{layer}." for layer in filled_layers))
    config = load_registered(TARGET).sources["base"].config
    (made.base / "config.json").write_text(json.dumps(config))
    for name, size in RESOURCE_BYTES.items():
        (made.base / name).write_bytes(_resource(name).ljust(size))
    _write_ranking(made.ranking)
    pins = {f"frontend/{name}": sha256((made.base / name).read_bytes()).hexdigest() for name in RESOURCE_BYTES}
    adapted = adapt_recipe_text(registered_text(TARGET), where=TARGET, id=f"{TARGET}.sparse", let={}, pins=pins)
    made.recipe.write_text(adapted)
    return made


def _write_shards(folder: Path, filled: tuple[str, ...]) -> None:
    words = trained_words(seed=3)
    shards: dict[str, str] = {}
    for number, headers in enumerate(_shards(), 1):
        path = folder / f"model-{number:05}-of-{SHARDS:05}.safetensors"
        shards |= dict.fromkeys(headers, path.name)
        start = write_header(path, headers)
        with path.open("r+b") as file:
            for name, (_, shape) in headers.items():
                row, size = WORD_BYTES * prod(shape[1:]), WORD_BYTES * prod(shape)
                for at, length in [(0, size)] if name.startswith(filled) else [(0, row), (size - row, row)]:
                    fill(file, start + at, length, words)
                start += size
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": shards}))


def _shards() -> list[dict[str, tuple[str, tuple[int, ...]]]]:
    """The listed tensors in their order, cut where a shard has its share of the bytes."""
    listed: dict[str, tuple[str, list[int]]] = json.loads(_LISTED.read_text(encoding="utf-8"))
    total = WORD_BYTES * sum(prod(shape) for _, shape in listed.values())
    shards: list[dict[str, tuple[str, tuple[int, ...]]]] = [{} for _ in range(SHARDS)]
    before = 0
    for name, (dtype, shape) in listed.items():
        shards[before * SHARDS // total][name] = (dtype, tuple(shape))
        before += WORD_BYTES * prod(shape)
    return shards


def _resource(name: str) -> bytes:
    """A JSON document; the tokenizer's config has the special tokens that the draft head takes in any case."""
    if name != "tokenizer_config.json":
        return b"{}"
    special = {str(id): {"special": True} for id in range(DOMAIN - SPECIAL_TOKENS, DOMAIN)}
    return json.dumps({"added_tokens_decoder": special}).encode()


def _write_ranking(path: Path) -> None:
    """Counts for the row that is used, with ties; holes for the other rows."""
    counts = np.zeros(VOCABULARY, dtype="<i8")
    counts[:DOMAIN] = np.random.default_rng(4).zipf(1.2, DOMAIN).clip(max=1 << 40)
    with path.open("wb") as file:
        file.write(counts.tobytes())
        file.truncate(RANKING_ROWS * counts.nbytes)
