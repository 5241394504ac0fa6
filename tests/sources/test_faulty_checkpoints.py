"""Checkpoints with one fault each: every kind has its own message, which names the file and, where there is one, the
tensor."""

from __future__ import annotations

import json
import os
import pickle
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from schemas.errors import SourceError
from tests.sources.written import described, file_bytes, library_bytes, words, write_indexed
from workers.engine.sources.checkpoint import MAX_CONFIG_BYTES, open_checkpoint
from workers.engine.sources.checkpoint_index import MAX_INDEX_BYTES
from workers.engine.sources.roots import ANYWHERE
from workers.engine.sources.safetensors_header import MAX_HEADER_BYTES

INDEX = "model.safetensors.index.json"
FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 4000\n"
GOOD = library_bytes({"a": ("bfloat16", (2, 2), words(8)), "b": ("uint8", (3,), words(3))}, {"format": "pt"})


@dataclass(frozen=True)
class Faulty:
    """A checkpoint with one fault: how it is written, and what the message must say besides `file`."""

    write: Callable[[Path], object]
    file: str
    says: tuple[str, ...]


def one(content: bytes, *says: str) -> Faulty:
    """A directory with model.safetensors of that content."""
    return Faulty(lambda folder: (folder / "model.safetensors").write_bytes(content), "model.safetensors", says)


def header(tensors: object, data_bytes: int, *says: str) -> Faulty:
    """model.safetensors with that header, and as many bytes of data."""
    return one(file_bytes(tensors, words(data_bytes)), *says)


def described_as(tensor: object, *says: str) -> Faulty:
    """The tensor `bad` described like that, with 8 bytes of data."""
    return header({"bad": tensor}, 8, "tensor 'bad'", *says)


def index(document: bytes, *says: str) -> Faulty:
    return Faulty(lambda folder: (folder / INDEX).write_bytes(document), INDEX, says)


def mapped(weight_map: object, *says: str) -> Faulty:
    """An index with that weight_map beside one good shard with the tensors a and b."""
    return Faulty(lambda folder: write_indexed(folder, {FIRST: GOOD}, weight_map), INDEX, says)


def write_zip(folder: Path) -> None:
    with zipfile.ZipFile(folder / "model.safetensors", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"a": 1}))


def write_sparse(path: Path, size: int, head: bytes = b"") -> None:
    path.write_bytes(head)
    os.truncate(path, size)


def write_both(folder: Path) -> None:
    write_indexed(folder, {FIRST: GOOD}, {"a": FIRST})
    (folder / "model.safetensors").write_bytes(GOOD)


def write_several(folder: Path) -> None:
    for name in (FIRST, SECOND):
        (folder / name).write_bytes(GOOD)


FAULTY = {
    # the file as a whole
    "empty file": one(b"", "an empty file"),
    "shorter than a length": one(b"\x10\0\0\0", "truncated file of 4 bytes"),
    "nothing but a length": one((2).to_bytes(8, "little"), "truncated file of 8 bytes"),
    "cut in the header": one(GOOD[:40], "truncated file of 40 bytes in all"),
    "cut in the data": one(GOOD[:-1], "tensor 'b'", "truncated", "10 bytes of data"),
    "header past the cap": one(
        (MAX_HEADER_BYTES + 1).to_bytes(8, "little") + b"{}", f"at most {MAX_HEADER_BYTES}", "100000001"
    ),
    "header that begins otherwise": one(file_bytes(b' {"a": 1}'), "begins with {", "0x20"),
    "header of no bytes": one(file_bytes(b"", b"xyz"), "begins with {", "0x78"),
    "Git LFS pointer": one(LFS, "Git LFS pointer"),
    "pickle": one(pickle.dumps({"a": list(range(99))}, protocol=4), "pickle"),
    "zip archive": Faulty(write_zip, "model.safetensors", ("zip archive",)),
    "GGUF": one(b"GGUF\x03\0\0\0" + words(99), "GGUF"),
    "JSON text": one(b'{"weight_map": {"a": "b"}}', "JSON text", "folder"),
    # the header as JSON
    "header cut by its length": one(
        b"\x09" + file_bytes({"bad": described(0, 8)}, words(8))[1:], "expected JSON", "line 1, column"
    ),
    "bytes that are no UTF-8": header(b'{"\xff": 1}', 0, "UTF-8"),
    "half a surrogate pair": header(b'{"\\ud83d": {}}', 0, "surrogate"),
    "nested too deep": header(b'{"bad":' + b"[" * 100_000 + b"]" * 100_000 + b"}", 0, "levels of nesting"),
    "number too long": header(b'{"bad":' + b"9" * 5000 + b"}", 0, "digits"),
    "name twice": header(
        b'{"bad":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"bad":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}}',
        8,
        "'bad' more than once",
    ),
    "member twice": header(
        b'{"bad":{"dtype":"U8","dtype":"I8","shape":[8],"data_offsets":[0,8]}}', 8, "'dtype' more than once"
    ),
    # metadata
    "metadata no object": header({"__metadata__": ["pt"]}, 0, "__metadata__", '["pt"]'),
    "metadata with a number": header({"__metadata__": {"step": 7}}, 0, "__metadata__", "7 for 'step'"),
    # the description of a tensor
    "tensor no object": described_as([0, 8], "dtype, shape and data_offsets", "[0, 8]"),
    "no dtype": described_as({"shape": [8], "data_offsets": [0, 8]}, "no dtype"),
    "no shape": described_as({"dtype": "U8", "data_offsets": [0, 8]}, "no shape"),
    "no offsets": described_as({"dtype": "U8", "shape": [8]}, "no data_offsets"),
    "further member": described_as({**described(0, 8), "strides": [1]}, "also 'strides'"),
    "dtype no text": described_as(described(0, 8, dtype=8), "a dtype name", "8"),
    "shape no list": described_as(described(0, 8, shape=8), "a shape as a list", "8"),
    "extent negative": described_as(described(0, 8, shape=[-2, -4]), "extents", "-2"),
    "extent a fraction": described_as(described(0, 8, shape=[8.0]), "extents", "8.0"),
    "extent true": described_as(described(0, 8, shape=[True, 8]), "extents", "true"),
    "extent past 2^63": described_as(described(0, 8, shape=[2**63]), "extents", "9223372036854775808"),
    "product past 2^63": described_as(described(0, 8, shape=[2**40, 2**40]), "product of extents"),
    "offsets no list": described_as({**described(0, 8), "data_offsets": "0-8"}, "list of two", '"0-8"'),
    "one offset": described_as({**described(0, 8), "data_offsets": [8]}, "list of two", "[8]"),
    "offset negative": described_as(described(-8, 0, shape=[8]), "data_offsets from 0", "-8"),
    "offset a fraction": described_as({**described(0, 8), "data_offsets": [0, 8.0]}, "data_offsets from 0", "8.0"),
    "offset true": described_as({**described(0, 8), "data_offsets": [True, 8]}, "data_offsets from 0", "true"),
    "offsets backwards": described_as(described(8, 0, shape=[8]), "in order", "begin 8 after end 0"),
    "end past the data": described_as(described(0, 9), "within the 8 bytes", "an end at 9"),
    "size not that of the shape": described_as(
        described(0, 8, dtype="BF16", shape=[5]), "10 bytes for BF16 [5]", "8 between"
    ),
    # how the tensors lie together
    "hole before the first": header(
        {"bad": described(1, 8)}, 8, "tensor 'bad'", "a hole of 1 bytes", "the data begins"
    ),
    "hole between": header(
        {"a": described(0, 3), "bad": described(5, 8)}, 8, "tensor 'bad'", "a hole of 2 bytes", "tensor 'a' ends"
    ),
    "hole at the end": header({"a": described(0, 3)}, 8, "5 bytes at the end"),
    "overlap": header({"bad": described(2, 8), "a": described(0, 3)}, 8, "tensor 'bad'", "an overlap of 1 bytes"),
    "one in another": header({"a": described(0, 8), "bad": described(4, 4)}, 8, "tensor 'bad'", "overlap of 4 bytes"),
    # the directory
    "directory without any": Faulty(lambda _: None, "", ("neither",)),
    "directory with another name": Faulty(
        lambda folder: (folder / "weights.safetensors").write_bytes(GOOD), "", ("only 'weights.safetensors'",)
    ),
    "several without an index": Faulty(write_several, "", (f"no index and 2 safetensors files, '{FIRST}'",)),
    "index and another model.safetensors": Faulty(write_both, INDEX, ("also model.safetensors",)),
    "model.safetensors a directory": Faulty(
        lambda folder: (folder / "model.safetensors").mkdir(), "model.safetensors", ("found a directory",)
    ),
    "model.safetensors a pipe": Faulty(
        lambda folder: os.mkfifo(folder / "model.safetensors"), "model.safetensors", ("a named pipe",)
    ),
    "model.safetensors a dead link": Faulty(
        lambda folder: (folder / "model.safetensors").symlink_to("blob"), "model.safetensors", ("a link to a place",)
    ),
    "model.safetensors a circle of links": Faulty(
        lambda folder: (folder / "model.safetensors").symlink_to("model.safetensors"),
        "model.safetensors",
        ("in a circle",),
    ),
    # the index
    "index empty": index(b"", "an empty file"),
    "index a Git LFS pointer": index(LFS, "Git LFS pointer"),
    "index past the cap": Faulty(
        lambda folder: write_sparse(folder / INDEX, MAX_INDEX_BYTES + 1), INDEX, (f"at most {MAX_INDEX_BYTES} bytes",)
    ),
    "index no JSON": index(b"{'weight_map': {}}", "expected JSON"),
    "index no object": index(b"[]", "a JSON object"),
    "index without weight_map": index(b'{"metadata": {}}', "a member weight_map"),
    "weight_map no object": index(b'{"weight_map": ["a"]}', "weight_map as an object", '["a"]'),
    "weight_map empty": index(b'{"weight_map": {}}', "at least one tensor"),
    "tensor mapped twice": index(
        f'{{"weight_map": {{"a": "{FIRST}", "a": "{SECOND}"}}}}'.encode(), "'a' more than once"
    ),
    "shard no text": mapped({"a": FIRST, "b": 2}, "tensor 'b'", "the name of its shard", "found 2"),
    "shard above": mapped({"a": "../other/model.safetensors"}, "tensor 'a'", "plain name", "'../other/"),
    "shard below": mapped({"a": "sub/model.safetensors"}, "tensor 'a'", "plain name", "'sub/"),
    "shard absolute": mapped({"a": "/etc/passwd"}, "tensor 'a'", "plain name", "'/etc/passwd'"),
    "shard the parent": mapped({"a": ".."}, "tensor 'a'", "plain name", "'..'"),
    "shard with a backslash": mapped({"a": "..\\x.safetensors"}, "tensor 'a'", "plain name", r"'..\\x"),
    "shard with a zero": mapped({"a": "x\0.safetensors"}, "tensor 'a'", "plain name", r"'x\x00"),
    "shard without a name": mapped({"a": ""}, "tensor 'a'", "plain name", "found ''"),
    "shard absent": mapped({"a": FIRST, "z": SECOND}, "tensor 'z'", f"its shard '{SECOND}'", "nothing of that name"),
    "shard name too long": mapped({"a": "x" * 300}, "tensor 'a'", "its shard 'xxx", "nothing of that name"),
    "tensor absent": mapped({"a": FIRST, "z": FIRST}, "tensor 'z'", f"in its shard '{FIRST}'", "none there"),
    "fault in a shard": Faulty(
        lambda folder: write_indexed(folder, {FIRST: GOOD, SECOND: b""}, {"a": FIRST, "z": SECOND}),
        SECOND,
        ("an empty file",),
    ),
}


def message_of(kind: str, folder: Path) -> str:
    faulty = FAULTY[kind]
    faulty.write(folder)
    with pytest.raises(SourceError) as caught:
        open_checkpoint("base", folder, ANYWHERE)
    return str(caught.value)


@pytest.mark.parametrize("kind", FAULTY)
def test_the_message_names_source_file_and_fault(kind: str, tmp_path: Path) -> None:
    message = message_of(kind, tmp_path)
    assert message.isprintable()
    assert message.startswith("source base, ")
    assert str(tmp_path / FAULTY[kind].file) in message
    for words_of_it in FAULTY[kind].says:
        assert words_of_it in message


def test_no_two_kinds_of_fault_have_the_same_message(tmp_path: Path) -> None:
    kinds: dict[str, str] = {}
    for number, kind in enumerate(FAULTY):
        folder = tmp_path / str(number)
        folder.mkdir()
        message = message_of(kind, folder).replace(str(folder), "")
        assert kinds.setdefault(message, kind) == kind
    assert len(kinds) == len(FAULTY) >= 40


def test_a_place_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="an existing file or directory, found nothing there"):
        open_checkpoint("base", tmp_path / "absent", ANYWHERE)


@pytest.mark.parametrize("place", ["a\0b", "\ud800", "x" * 5000, "x" * 300 + "/y"])
def test_a_place_that_can_name_no_file(place: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        open_checkpoint("base", tmp_path / place, ANYWHERE)
    assert str(caught.value).isprintable()


def test_a_place_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(GOOD)
    with pytest.raises(SourceError, match="through something that is no directory"):
        open_checkpoint("base", tmp_path / "model.safetensors" / "x", ANYWHERE)


def test_the_index_given_as_the_place(tmp_path: Path) -> None:
    write_indexed(tmp_path, {FIRST: GOOD}, {"a": FIRST, "b": FIRST})
    with pytest.raises(SourceError, match="is given by its folder"):
        open_checkpoint("base", tmp_path / INDEX, ANYWHERE)


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (None, "expected config.json beside the checkpoint, found nothing there"),
        (b"", "expected config.json beside the checkpoint, found an empty file"),
        (LFS, "found a Git LFS pointer"),
        (b"[1]", "expected a JSON object"),
        (b'{"model_type": "a" "b"}', "expected JSON, found .* line 1, column 20"),
        (b'{"model_type": "a", "model_type": "b"}', "'model_type' more than once"),
        (b"{" + b" " * MAX_CONFIG_BYTES + b"}", f"at most {MAX_CONFIG_BYTES} bytes, found {MAX_CONFIG_BYTES + 2}"),
    ],
)
def test_a_faulty_config_is_told_when_it_is_asked_for(document: bytes | None, says: str, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(GOOD)
    if document is not None:
        (tmp_path / "config.json").write_bytes(document)
    checkpoint = open_checkpoint("base", tmp_path, ANYWHERE)
    with pytest.raises(SourceError, match=rf"source base, file {re.escape(str(tmp_path))}/config\.json: .*{says}"):
        checkpoint.config()


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/../../x", "/etc/passwd"])
def test_resources_lie_in_the_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(GOOD)
    checkpoint = open_checkpoint("base", tmp_path, ANYWHERE)
    with pytest.raises(SourceError, match=r"a name relative to the checkpoint's folder"):
        checkpoint.file(name)


def test_a_tensor_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(GOOD)
    with pytest.raises(SourceError, match=r"source base, folder .*, tensor 'c': .* found none of that name"):
        open_checkpoint("base", tmp_path, ANYWHERE).tensor("c")


def test_config_json_is_not_read_before_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(GOOD)
    (tmp_path / "config.json").write_bytes(b"\xff")
    assert list(open_checkpoint("base", tmp_path, ANYWHERE).tensors) == ["a", "b"]


def test_a_valid_config_is_given_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(GOOD)
    config = {
        "model_type": "qwen3_5",
        "text_config": {"hidden_size": 5120, "rope": [1.5, None, True]},
        "chat": "\U0001f600",
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert open_checkpoint("base", tmp_path, ANYWHERE).config() == config
