"""Writes a miniature: sources, and a recipe that converts them without any change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from zlib import crc32

from schemas.errors import OutputError
from workers.engine.miniature.checkpoint_files import TensorWords, write_sharded, write_single
from workers.engine.miniature.ranking import ranking_bytes
from workers.engine.miniature.resources import resource_files
from workers.engine.miniature.target_checkpoints import MiniatureCheckpoint, target_checkpoints, target_sizes
from workers.engine.miniature.words import Words, tensor_words
from workers.engine.recipe.adaptation import adapt_recipe_text
from workers.engine.recipe.registered import load_registered, registered_text
from workers.engine.sources.checkpoint import CONFIG_NAME

SEED = 11
BASE = "base"


@dataclass(frozen=True, slots=True)
class Miniature:
    """A miniature of the registered target `id`: the places of its sources by name, the recipe adapted to them, and the
    integers of `let` with which the registered recipe fits them but for its pins."""

    id: str
    places: Mapping[str, Path]
    recipe: Path
    let: Mapping[str, int]


def write_miniature(target_id: str, folder: Path, *, seed: int = SEED) -> Miniature:
    """Writes a miniature into a folder that is not there or empty. The same target and seed give the same bytes.

    Raises RegistryError for an id that is no registered target, OutputError for a folder that cannot be used.
    """
    let = target_sizes(target_id)
    _claim(folder)
    places: dict[str, Path] = {}
    checkpoints = target_checkpoints(target_id, let)
    for source, checkpoint in checkpoints.items():
        places[source] = folder / source
        places[source].mkdir()
        write = write_sharded if source == BASE else write_single
        write(places[source], checkpoint.headers, checkpoint_words(source, checkpoint, seed))
        _write_text(places[source] / CONFIG_NAME, json.dumps(checkpoint.config, indent=2) + "\n")
    files = resource_files(let)
    for name, text in files.items():
        _write_text(places[BASE] / name, text)
    places["ranking"] = folder / "ranking.i64"
    places["ranking"].write_bytes(ranking_bytes(let, seed))
    recipe = folder / "recipe.yaml"
    _write_text(recipe, _recipe_text(target_id, let, files))
    return Miniature(target_id, places, recipe, let)


def checkpoint_words(source: str, checkpoint: MiniatureCheckpoint, seed: int) -> TensorWords:
    """What gives the words of a checkpoint's tensors."""

    def words(name: str) -> Words:
        owner = BASE if name in checkpoint.of_base else source
        return tensor_words(name, checkpoint.headers[name], seed + crc32(owner.encode()))

    return words


def _recipe_text(target_id: str, let: Mapping[str, int], files: Mapping[str, str]) -> str:
    pins = {
        resource.name: sha256(files[resource.file].encode()).hexdigest()
        for resource in load_registered(target_id).resources
        if resource.sha256 is not None and resource.file is not None
    }
    text = registered_text(target_id)
    return adapt_recipe_text(text, where=target_id, id=f"{target_id}.miniature", let=let, pins=pins)


def _claim(folder: Path) -> None:
    """Makes sure of an empty folder of that name."""
    try:
        folder.mkdir(exist_ok=True)
        taken = any(folder.iterdir())
    except OSError as error:
        raise OutputError(str(folder), expected="a folder that can be made", found=str(error.strerror)) from None
    if taken:
        raise OutputError(
            str(folder), expected="a name that is not taken, or an empty folder", found="a folder with files"
        )


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
