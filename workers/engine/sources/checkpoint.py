"""A checkpoint of safetensors files (recipe.md, sources): an indexed directory, a directory with one file, one file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from schemas.errors import SourceError
from workers.engine.sources.checkpoint_index import INDEX_NAME, read_index
from workers.engine.sources.json_object import parse_object
from workers.engine.sources.roots import Roots, failure_words
from workers.engine.sources.safetensors_header import TensorEntry, read_header
from workers.engine.sources.source_file import SourceFile, opened, place_words, read_document
from workers.engine.sources.wording import quoted, shown_path

SINGLE_NAME = "model.safetensors"
CONFIG_NAME = "config.json"
MAX_CONFIG_BYTES = 16_000_000


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The tensors of a checkpoint, from its headers alone. `folder` holds config.json and the resources."""

    name: str
    folder: Path
    roots: Roots
    shards: tuple[SourceFile, ...]
    tensors: Mapping[str, TensorEntry]
    ignored: tuple[str, ...]
    """Names of the tensors that shards hold and the index does not map to them, sorted."""

    @property
    def owner(self) -> str:
        return f"source {self.name}"

    def tensor(self, name: str) -> TensorEntry:
        """The tensor of that name. SourceError where there is none."""
        entry = self.tensors.get(name)
        if entry is None:
            where = f"{self.owner}, folder {shown_path(self.folder)}, tensor {quoted(name)}"
            raise SourceError(where, expected="a tensor of the checkpoint", found="none of that name")
        return entry

    def config(self) -> Mapping[str, object]:
        """The members of config.json. SourceError where it is absent, too large or no JSON object."""
        return self.json_file(CONFIG_NAME, expected="config.json beside the checkpoint")

    def json_file(self, name: str, *, expected: str) -> Mapping[str, object]:
        """The members of that JSON file beside the checkpoint; `expected` says what it is when it is absent.

        SourceError where it is absent, too large or no JSON object.
        """
        path = self.folder / name
        document = read_document(self.owner, path, self.roots, expected=expected, limit=MAX_CONFIG_BYTES)
        return parse_object(document, place_words(self.owner, path))

    def file(self, name: str) -> Path:
        """Where the file of that relative name lies beside the checkpoint. SourceError for a name that leaves it."""
        path = PurePosixPath(name)
        if name in ("", ".") or path.is_absolute() or ".." in path.parts:
            raise SourceError(
                f"{self.owner}, file {quoted(name)}",
                expected="a name relative to the checkpoint's folder, without ..",
                found="one that is not",
            )
        return self.folder / path


def open_checkpoint(name: str, place: Path, roots: Roots) -> Checkpoint:
    """The checkpoint at `place`, its headers read and checked. `name` is that of the recipe's source.

    Raises SourceError for a place outside the roots or of none of the three forms, an index or header with a fault, and
    a shard or tensor that the index names and that is not there.
    """
    place = place.absolute()
    owner = f"source {name}"
    if not roots.is_folder(place, f"{owner}, place {shown_path(place)}"):
        return _of_one_file(name, place, roots)
    if os.path.lexists(place / INDEX_NAME):
        return _of_index(name, place, roots)
    _require_one_file(owner, place, roots)
    return _of_one_file(name, place / SINGLE_NAME, roots)


def _of_one_file(name: str, path: Path, roots: Roots) -> Checkpoint:
    shard, tensors = _read_shard(f"source {name}", path, roots)
    return Checkpoint(name, path.parent, roots, (shard,), MappingProxyType(tensors), ())


def _read_shard(owner: str, path: Path, roots: Roots) -> tuple[SourceFile, dict[str, TensorEntry]]:
    with opened(owner, path, roots, expected="a safetensors file") as (descriptor, shard):
        return shard, read_header(descriptor, shard)


def _require_one_file(owner: str, folder: Path, roots: Roots) -> None:
    """SourceError unless model.safetensors is the one safetensors file of a directory without an index. Hidden files
    do not count."""
    where = f"{owner}, folder {shown_path(folder)}"
    try:
        names = sorted(path.name for path in roots.resolve(folder, where).glob("[!.]*.safetensors"))
    except OSError as error:
        raise SourceError(where, expected="a directory that can be listed", found=failure_words(error)) from error
    if names == [SINGLE_NAME]:
        return
    expected = f"{INDEX_NAME}, or {SINGLE_NAME} alone"
    if not names:
        raise SourceError(where, expected=expected, found="neither, nor any other safetensors file")
    if len(names) == 1:
        raise SourceError(
            where, expected=expected, found=f"only {quoted(names[0])}; give that file itself as the place"
        )
    raise SourceError(where, expected=expected, found=f"no index and {len(names)} safetensors files, {_listed(names)}")


def _listed(names: Iterable[str], most: int = 3) -> str:
    shown = [quoted(name) for name in names]
    rest = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {rest} more" if rest > 0 else "")


def _of_index(name: str, folder: Path, roots: Roots) -> Checkpoint:
    owner = f"source {name}"
    index = read_index(owner, folder, roots)
    if SINGLE_NAME not in index.tensors_by_shard and os.path.lexists(folder / SINGLE_NAME):
        raise SourceError(
            index.where,
            expected="one reading of the checkpoint",
            found=f"also {SINGLE_NAME}, which the index does not name",
        )
    shards: list[SourceFile] = []
    tensors: dict[str, TensorEntry] = {}
    ignored: set[str] = set()
    for shard_name, mapped in index.tensors_by_shard.items():
        if not os.path.lexists(folder / shard_name):
            raise SourceError(
                index.tensor_words(mapped[0]),
                expected=f"its shard {quoted(shard_name)} in the same folder",
                found="nothing of that name",
            )
        shard, held = _read_shard(owner, folder / shard_name, roots)
        for tensor in mapped:
            if tensor not in held:
                raise SourceError(
                    index.tensor_words(tensor),
                    expected=f"a tensor of that name in its shard {quoted(shard_name)}",
                    found="none there",
                )
            tensors[tensor] = held.pop(tensor)
        shards.append(shard)
        ignored.update(held)
    return Checkpoint(name, folder, roots, tuple(shards), MappingProxyType(tensors), tuple(sorted(ignored)))
