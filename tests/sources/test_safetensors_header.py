"""Headers: what the library writes is read as it was meant; what no reader may accept is refused."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from schemas.errors import SourceError
from schemas.source_dtypes import ELEMENT_BYTES, SourceDtype
from tests.sources.written import WIDTHS, described, file_bytes, library_bytes, words
from workers.engine.file_stamp import FileStamp
from workers.engine.sources.json_object import MAX_VALUES
from workers.engine.sources.roots import ANYWHERE
from workers.engine.sources.safetensors_header import TensorEntry, parse_header, read_header
from workers.engine.sources.source_file import SourceFile, opened


def read(folder: Path, content: bytes) -> dict[str, TensorEntry]:
    path = folder / "model.safetensors"
    path.write_bytes(content)
    with opened("source base", path, ANYWHERE) as (descriptor, file):
        return read_header(descriptor, file)


def parse(header: bytes, data_bytes: int) -> dict[str, TensorEntry]:
    """The header of a file that exists only on paper."""
    stamp = FileStamp(device=1, inode=2, bytes=8 + len(header) + data_bytes, modified_ns=3)
    return parse_header(header, SourceFile("source base", Path("/shard.safetensors"), stamp))


def test_every_dtype_of_the_library_is_read_as_written(tmp_path: Path) -> None:
    tensors = {
        f"t.{dtype}": (dtype, (3, 5), words(15 * width, seed)) for seed, (dtype, width) in enumerate(WIDTHS.items())
    }
    content = library_bytes(tensors, {"format": "pt"})
    entries = read(tmp_path, content)
    assert entries.keys() == tensors.keys()
    for name, (_, shape, data) in tensors.items():
        entry = entries[name]
        assert entry.shape == shape
        assert entry.elements == 15
        assert content[entry.start : entry.start + entry.bytes] == data
    known = {entry.dtype for name, entry in entries.items() if name != "t.float8_e8m0fnu"}
    assert known == set(SourceDtype)


def test_widths_are_those_of_the_library(tmp_path: Path) -> None:
    tensors = {dtype: (dtype, (), words(width)) for dtype, width in WIDTHS.items() if dtype != "float8_e8m0fnu"}
    entries = read(tmp_path, library_bytes(tensors))
    assert {entry.dtype: entry.bytes for entry in entries.values()} == dict(ELEMENT_BYTES)


def test_scalars_and_tensors_without_elements_are_legal(tmp_path: Path) -> None:
    tensors = {
        "scalar": ("float32", (), words(4)),
        "none": ("bfloat16", (0,), b""),
        "no_rows": ("uint8", (0, 7), b""),
        "last": ("uint8", (2,), words(2)),
    }
    entries = read(tmp_path, library_bytes(tensors))
    assert {name: (entry.shape, entry.bytes) for name, entry in entries.items()} == {
        "scalar": ((), 4),
        "none": ((0,), 0),
        "no_rows": ((0, 7), 0),
        "last": ((2,), 2),
    }
    assert entries["scalar"].elements == 1


def test_a_file_without_tensors_is_legal(tmp_path: Path) -> None:
    assert read(tmp_path, library_bytes({})) == {}


def test_a_header_that_is_not_padded_or_is_by_white_space(tmp_path: Path) -> None:
    tight = json.dumps({"a": described(0, 3)}, separators=(",", ":")).encode()
    for padding in (b"", b" ", b"     \n"):
        (entry,) = read(tmp_path, file_bytes(tight + padding, b"xyz")).values()
        assert entry.start == 8 + len(tight) + len(padding)


def test_order_of_the_header_is_kept_and_need_not_be_that_of_the_data(tmp_path: Path) -> None:
    content = file_bytes({"b": described(2, 6), "__metadata__": {"format": "pt"}, "a": described(0, 2)}, words(6))
    assert list(read(tmp_path, content)) == ["b", "a"]


def test_a_length_that_begins_like_a_pickle_is_no_pickle(tmp_path: Path) -> None:
    """A header of 0x0480 bytes: the file begins as a pickle of protocol 4 does."""
    header = json.dumps({"a": described(0, 1)}).encode().ljust(0x0480)
    content = file_bytes(header, b"x")
    assert content.startswith(b"\x80\x04")
    assert list(read(tmp_path, content)) == ["a"]


def test_an_unknown_dtype_is_a_fault_only_where_it_is_used() -> None:
    header = json.dumps({"odd": described(0, 3, dtype="F6_E3M2", shape=[4]), "a": described(3, 4)}).encode()
    entries = parse(header, 1 + 3)
    assert entries["a"].dtype is SourceDtype.U8
    with pytest.raises(SourceError, match=r"shard\.safetensors, tensor 'odd': .*F16.*found \"F6_E3M2\""):
        _ = entries["odd"].dtype


def test_offsets_of_an_unknown_dtype_are_checked() -> None:
    header = json.dumps({"odd": described(0, 3, dtype="F6_E3M2", shape=[4]), "a": described(4, 5)}).encode()
    with pytest.raises(SourceError, match="a hole of 1 bytes"):
        parse(header, 5)


@pytest.mark.parametrize("shape", [[2**62, 4, 0], [2**63 - 1, 2**63 - 1], [2**32, 2**32], [2**63 - 1] * 100_000])
def test_products_that_overflow_are_refused_at_once(shape: list[int]) -> None:
    header = json.dumps({"wide": described(0, 0, shape=shape)}).encode()
    with pytest.raises(SourceError, match="tensor 'wide': expected a shape of at most"):
        parse(header, 0)


def test_documents_of_too_many_values_are_refused_before_they_are_parsed() -> None:
    header = b'{"a":[' + b"[]," * (MAX_VALUES // 2) + b"[]]}"
    with pytest.raises(SourceError, match="JSON values"):
        parse(header, 0)


def test_long_names_and_control_characters_do_not_spoil_messages() -> None:
    name = "line\nbreak\x1b[31m" + "x" * 10_000
    header = json.dumps({name: described(0, 2)}).encode()
    with pytest.raises(SourceError) as caught:
        parse(header, 1)
    message = str(caught.value)
    assert message.isprintable()
    assert r"line\nbreak" in message
    assert len(message) < 600


def test_hostile_headers_give_source_errors_and_nothing_else() -> None:
    """5,000 damaged headers: bytes flipped, cut, repeated, and swapped for pieces that parsers trip over."""
    rng = random.Random(20240229)  # noqa: S311 - repeatable damage, no secret
    valid = json.dumps(
        {
            "__metadata__": {"format": "pt"},
            "a.weight": described(0, 12, dtype="BF16", shape=[2, 3]),
            "b.weight": described(12, 20, dtype="F64", shape=[]),
            "c.weight": described(20, 20, dtype="I32", shape=[0, 4]),
            "d.weight": described(20, 27, dtype="F4", shape=[2, 7]),
        }
    ).encode()
    assert len(parse(valid, 27)) == 4
    pieces = [
        b"-1", b"1e3", b"0.5", b"true", b"null", b"NaN", b"-Infinity", b"1e999", b"9" * 30, b"9" * 5000,
        b"[]", b"{}", b"[" * 3000, b'{"a":' * 3000, b'"\\ud800"', b'"\\u0000"', b"\x00", b"\xff\xfe", b"\xed\xa0\x80",
        b",", b":", b'"', b"//", b'"U8"', b'"dtype"', b'"data_offsets":[0,27]', b'"a.weight":', b"9223372036854775807",
        b"\xef\xbb\xbf",
    ]  # fmt: skip
    refused = 0
    for _ in range(5000):
        damaged = bytearray(valid)
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(damaged) + 1)
            stretch = rng.randint(0, 12)
            damage = rng.choice(
                [
                    rng.choice(pieces),
                    bytes(rng.randrange(256) for _ in range(rng.randint(1, 4))),
                    bytes(damaged[place : place + rng.randint(0, 60)]),
                    str(rng.randrange(40)).encode(),
                ]
            )
            damaged[place : place + stretch] = damage
        try:
            entries = parse(bytes(damaged), 27)
        except SourceError as error:
            assert str(error).isprintable()
            refused += 1
        else:
            assert sum(entry.bytes for entry in entries.values()) == 27
    assert refused > 4000


def test_hostile_files_give_source_errors_and_nothing_else(tmp_path: Path) -> None:
    """Whole files, the header length damaged too."""
    rng = random.Random(7)  # noqa: S311 - repeatable damage, no secret
    valid = library_bytes({"a": ("bfloat16", (4, 2), words(16)), "b": ("uint8", (3,), words(3))}, {"k": "v"})
    for _ in range(500):
        damaged = bytearray(valid)
        damaged[rng.randrange(12)] = rng.randrange(256)
        del damaged[rng.randrange(1, 2 * len(damaged)) :]
        if damaged == valid:
            continue
        with pytest.raises(SourceError):
            read(tmp_path, bytes(damaged))
