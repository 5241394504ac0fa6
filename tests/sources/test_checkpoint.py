"""The three forms of a checkpoint, and which tensors of it exist."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import safetensors.numpy

from tests.sources.written import library_bytes, words, write_indexed
from workers.engine.sources.aligned import aligned_bytes
from workers.engine.sources.checkpoint import open_checkpoint
from workers.engine.sources.reading import OpenFiles
from workers.engine.sources.roots import ANYWHERE, Roots

A = ("bfloat16", (4, 8), words(64, 1))
B = ("float8_e4m3fn", (5,), words(5, 2))
C = ("int64", (), words(8, 3))


def test_one_file_and_a_directory_with_one_file_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(library_bytes({"a": A, "b": B}))
    by_folder = open_checkpoint("base", tmp_path, ANYWHERE)
    by_file = open_checkpoint("base", path, ANYWHERE)
    assert by_folder == by_file
    assert by_file.tensor("b").shape == (5,)
    assert by_file.folder == tmp_path
    assert by_file.ignored == ()
    assert by_file.file("sub/tokenizer.json") == tmp_path / "sub" / "tokenizer.json"
    assert [shard.path for shard in by_file.shards] == [path]


def test_one_file_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "dflash.safetensors"
    path.write_bytes(library_bytes({"a": A}))
    (tmp_path / "config.json").write_text('{"layers": 6}')
    checkpoint = open_checkpoint("draft", path, ANYWHERE)
    assert list(checkpoint.tensors) == ["a"]
    assert checkpoint.config() == {"layers": 6}


def test_a_relative_place_keeps_its_meaning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.safetensors").write_bytes(library_bytes({"a": A}))
    monkeypatch.chdir(tmp_path)
    checkpoint = open_checkpoint("base", Path(), ANYWHERE)
    monkeypatch.chdir("/")
    buffer = bytearray(64)
    with OpenFiles(ANYWHERE) as files:
        files.read_into(checkpoint.tensor("a"), 0, buffer)
    assert buffer == A[2]


def test_with_an_index_only_the_tensors_that_it_maps_exist(tmp_path: Path) -> None:
    first = library_bytes({"a": A, "b": B, "left": C})
    second = library_bytes({"c": C, "b": C, "rest": A})
    third = library_bytes({"unread": A})
    shards = {"x-1.safetensors": first, "x-2.safetensors": second, "x-3.safetensors": third}
    write_indexed(tmp_path, shards, {"c": "x-2.safetensors", "a": "x-1.safetensors", "b": "x-1.safetensors"})
    checkpoint = open_checkpoint("base", tmp_path, ANYWHERE)
    assert set(checkpoint.tensors) == {"a", "b", "c"}
    assert checkpoint.tensor("b").shape == B[1]
    assert checkpoint.ignored == ("b", "left", "rest")
    assert [shard.path.name for shard in checkpoint.shards] == ["x-2.safetensors", "x-1.safetensors"]


def test_an_index_may_name_model_safetensors(tmp_path: Path) -> None:
    content = library_bytes({"a": A, "b": B})
    write_indexed(tmp_path, {"model.safetensors": content}, {"a": "model.safetensors"})
    checkpoint = open_checkpoint("base", tmp_path, ANYWHERE)
    assert list(checkpoint.tensors) == ["a"]
    assert checkpoint.ignored == ("b",)


def test_hidden_files_beside_model_safetensors_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(library_bytes({"a": A}))
    (tmp_path / "._model.safetensors").write_bytes(b"\0\5\x16\7")
    assert list(open_checkpoint("base", tmp_path, ANYWHERE).tensors) == ["a"]


def test_a_hub_cache_of_links_is_read_below_its_root(tmp_path: Path) -> None:
    """snapshots/REVISION/ holds links into blobs/; config.json lies beside the link, not beside the blob."""
    blobs = tmp_path / "models--acme" / "blobs"
    snapshot = tmp_path / "models--acme" / "snapshots" / "0123abcd"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for name, blob, content in (
        ("model.safetensors", "77aa", library_bytes({"a": A})),
        ("config.json", "88bb", b'{"model_type": "acme"}'),
    ):
        (blobs / blob).write_bytes(content)
        (snapshot / name).symlink_to(f"../../blobs/{blob}")
    for place in (snapshot, snapshot / "model.safetensors"):
        checkpoint = open_checkpoint("base", place, Roots((tmp_path,)))
        assert checkpoint.config() == {"model_type": "acme"}
        assert list(checkpoint.tensors) == ["a"]


def test_values_are_those_that_the_library_wrote(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    arrays: dict[str, npt.NDArray[Any]] = {
        "f": rng.standard_normal((33, 17), dtype=np.float32),
        "h": rng.standard_normal((5, 3)).astype(np.float16),
        "i": rng.integers(-(2**40), 2**40, (4, 4, 4)),
        "t": rng.integers(0, 2, 9).astype(np.bool_),
    }
    path = tmp_path / "model.safetensors"
    safetensors.numpy.save_file(arrays, path)
    checkpoint = open_checkpoint("base", tmp_path, ANYWHERE)
    with OpenFiles(ANYWHERE) as files:
        for name, array in arrays.items():
            entry = checkpoint.tensor(name)
            buffer = aligned_bytes(entry.bytes)
            files.read_into(entry, 0, buffer)
            assert np.array_equal(buffer.view(array.dtype).reshape(entry.shape), array)
