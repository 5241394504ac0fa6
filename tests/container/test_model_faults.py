from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.errors import ArtifactError, VerificationError
from tests.container.faults import FAULTS as SINGLE_FILE_FAULTS
from tests.container.faults import Fault
from tests.container.memory import traced_peak
from tests.container.model_binding_faults import BINDING_FAULTS
from tests.container.model_changes import GOOD, changed, component, config, root, stored
from tests.container.model_component_faults import COMPONENT_FAULTS
from tests.container.model_front_faults import FRONT_FAULTS
from tests.container.model_object_faults import OBJECT_FAULTS
from tests.container.model_samples import (
    DESCRIPTION,
    OBJECTS,
    PAYLOAD,
    TEXT,
    document,
    entry_bytes,
    inscription,
    sliced,
)
from workers.engine.container.directory import ForeignObject
from workers.engine.container.front import Artifact, read_front
from workers.engine.container.gaps import stray_bytes
from workers.engine.container.model_arrangement import arrange_model
from workers.engine.container.reader import ArtifactReader, read_artifact
from workers.engine.steps import SilentObserver
from workers.engine.verify.legality import verify_words

FAULTS = (*FRONT_FAULTS, *OBJECT_FAULTS, *COMPONENT_FAULTS, *BINDING_FAULTS)


def read(folder: Path, data: bytes) -> Artifact:
    path = folder / "a.ninfer"
    path.write_bytes(data)
    return read_artifact(path)


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_a_faulty_entry_is_refused_with_its_own_message(tmp_path: Path, fault: Fault) -> None:
    with pytest.raises(ArtifactError) as caught:
        read(tmp_path, fault.data)
    assert str(caught.value).replace(f"{tmp_path / 'a.ninfer'}", "FILE") == fault.message


def test_no_two_faults_share_a_message() -> None:
    assert len({fault.message for fault in FAULTS}) == len(FAULTS) > len(SINGLE_FILE_FAULTS)


def test_the_sample_that_the_faults_are_made_of_is_whole(tmp_path: Path) -> None:
    artifact = read(tmp_path, GOOD)
    assert artifact.description == DESCRIPTION
    assert artifact.objects == arrange_model(inscription(), OBJECTS).objects
    assert artifact.model is not None
    assert (artifact.model.metadata, artifact.model.provenance) == ({"name": "tiny"}, {"converter": "é"})
    assert artifact.identity is None


def ranges(name: str, start: int, stop: int) -> dict[str, object]:
    """A binding to one range of a tensor."""
    return {"parts": [{"object": name, "range": [start, stop]}]}


LEGAL: list[tuple[str, bytes]] = [
    ("zeros instead of blanks up to the payload", entry_bytes(TEXT, blanks=False)),
    ("blanks of every kind after the JSON", entry_bytes(TEXT + "\n\t \r\n" * 100)),
    ("more blanks than a block", entry_bytes(TEXT + " " * 5000)),
    ("no metadata and no provenance", changed(lambda d: [d.pop("metadata"), d.pop("provenance")])),
    ("nothing bound and nothing used", changed(lambda d: d.update(bindings={}, uses=[]))),
    ("auxiliaries that are empty", changed(lambda d: d["uses"][1].update(auxiliaries={}))),
    ("resources that are empty", component("mtp", resources={})),
    ("a component that is its own target", component("mtp", target="mtp")),
    ("the whole of a tensor in parts", changed(lambda d: d["bindings"].update(c=ranges("weight", 0, 260)))),
    ("a range of a scalar", changed(lambda d: d["bindings"].update(c=ranges("scalar", 0, 1)))),
    ("one range bound twice", changed(lambda d: d["bindings"].update(c=d["bindings"]["text/b"]))),
    ("an auxiliary of an unknown role", changed(lambda d: d["uses"][0]["auxiliaries"].update(x={"object": "weight"}))),
    ("a config of sixty-four levels", config("[" * 63 + "]" * 63)),
    ("an integer of thirty digits in a config", config("9" * 30)),
    ("metadata of any form", root("metadata", {"a": [None, 1.5, {"b": []}], "é": ""})),
]


@pytest.mark.parametrize("data", [case[1] for case in LEGAL], ids=[case[0] for case in LEGAL])
def test_what_the_contract_leaves_open_is_read(tmp_path: Path, data: bytes) -> None:
    read(tmp_path, data)


def test_numbers_of_open_content_are_plain(tmp_path: Path) -> None:
    artifact = read(tmp_path, config('[1e-06,1.0,2,-0.5,true,null,"é"]'))
    assert artifact.description is not None
    layers = artifact.description.components["text"].config["layers"]
    assert layers == [1e-06, 1.0, 2, -0.5, True, None, "é"]
    assert isinstance(layers, list)
    assert [type(one) for one in layers[:3]] == [float, float, int]


def break_continuation(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    """Writes a file again as `change` makes it of what it was."""
    return lambda path: path.write_bytes(change(path.read_bytes()))


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


CONTINUATIONS: list[tuple[str, Callable[[Path], object], str]] = [
    ("missing", Path.unlink, "PART: expected a readable file, found No such file or directory"),
    (
        "a folder",
        make_folder,
        "PART: expected a regular file, found a directory",
    ),
    (
        "empty",
        break_continuation(lambda _: b""),
        "PART, magic: expected NINPRT, a continuation of framing 3, found ",
    ),
    (
        "an entry",
        break_continuation(lambda data: b"NINFER" + data[6:]),
        "PART, magic: expected NINPRT, a continuation of framing 3, found 4e 49 4e 46 45 52 00 03",
    ),
    (
        "of another framing",
        break_continuation(lambda data: data[:7] + b"\x04" + data[8:]),
        "PART, magic: expected NINPRT, a continuation of framing 3, found 4e 49 4e 50 52 54 00 04",
    ),
    (
        "of another place",
        break_continuation(lambda data: data[:8] + b"\x02" + data[9:]),
        "PART, number: expected 1, its place in the entry's list, found 2",
    ),
    (
        "of another artifact",
        break_continuation(lambda data: data[:31] + b"\xff" + data[32:]),
        "PART, artifact id: expected 000102030405060708090a0b0c0d0e0f, that of the entry, "
        "found 000102030405060708090a0b0c0d0eff",
    ),
    (
        "too short",
        break_continuation(lambda data: data[:-1]),
        "PART: expected a file of 4880 bytes, as the entry says, found 4879",
    ),
    (
        "too long",
        break_continuation(lambda data: data + b"\0"),
        "PART: expected a file of 4880 bytes, as the entry says, found 4881",
    ),
    (
        "cut in its header",
        break_continuation(lambda data: data[:20]),
        "PART: expected a file of 4880 bytes, as the entry says, found 20",
    ),
]


@pytest.mark.parametrize(
    ("spoil", "message"), [case[1:] for case in CONTINUATIONS], ids=[case[0] for case in CONTINUATIONS]
)
def test_a_faulty_continuation_is_refused_where_it_is_read(
    tmp_path: Path, spoil: Callable[[Path], object], message: str
) -> None:
    for name, data in sliced(document(), PAYLOAD, [500, 784]):
        (tmp_path / name).write_bytes(data)
    part = tmp_path / "m.ninfer.part-0001"
    spoil(part)
    assert read_artifact(tmp_path / "m.ninfer").description == DESCRIPTION, "the entry alone is whole"
    with ArtifactReader(tmp_path / "m.ninfer") as reader:
        first, matrix, weight, _ = reader.artifact.objects
        reader.read_at(first, 0, bytearray(5))
        reader.read_at(matrix, 0, bytearray(12))
        with pytest.raises(ArtifactError) as caught:
            reader.read_at(weight, 0, bytearray(528))
    assert str(caught.value).replace(str(part), "PART") == message


def test_a_continuation_that_changes_after_it_was_checked_is_checked_again(tmp_path: Path) -> None:
    for name, data in sliced(document(), PAYLOAD, [500, 784]):
        (tmp_path / name).write_bytes(data)
    part = tmp_path / "m.ninfer.part-0001"
    with ArtifactReader(tmp_path / "m.ninfer") as reader:
        weight = reader.artifact.objects[2]
        reader.read_at(weight, 0, bytearray(528))
        other = tmp_path / "other"
        other.write_bytes(part.read_bytes()[:8] + bytes(8) + part.read_bytes()[16:])
        other.replace(part)
        with pytest.raises(ArtifactError, match=r"number: expected 1, its place in the entry's list, found 0$"):
            reader.read_at(weight, 0, bytearray(528))


FOREIGN: list[tuple[bytes, ForeignObject, str]] = [
    (
        stored(1, format="gguf_q4_k", layout="gguf_blocks_v1", bytes=7),
        ForeignObject("matrix", (3, 2), "gguf_q4_k", "gguf_blocks_v1", 256, 7),
        "object 'matrix': expected an encoding whose words are known, found 'gguf_q4_k in gguf_blocks_v1'",
    ),
    (
        stored(1, format="t2_g128_fp16"),
        ForeignObject("matrix", (3, 2), "t2_g128_fp16", "contiguous_le_v1", 256, 12),
        "object 'matrix': expected an encoding whose words are known, found 't2_g128_fp16 in contiguous_le_v1'",
    ),
    (
        stored(1, layout="contiguous-le-v1"),
        ForeignObject("matrix", (3, 2), "bf16", "contiguous-le-v1", 256, 12),
        "object 'matrix': expected an encoding whose words are known, found 'bf16 in contiguous-le-v1'",
    ),
    (
        stored(0, encoding="zstd"),
        ForeignObject("frontend/é.json", None, None, "zstd", 0, 5),
        "object 'frontend/é.json': expected an encoding whose words are known, found 'zstd'",
    ),
]


@pytest.mark.parametrize(("data", "foreign", "message"), FOREIGN)
def test_an_unknown_encoding_is_read_but_not_called_legal(
    tmp_path: Path, data: bytes, foreign: ForeignObject, message: str
) -> None:
    path = tmp_path / "a.ninfer"
    path.write_bytes(data)
    with ArtifactReader(path) as reader:
        assert foreign in reader.artifact.objects
        found = bytearray(foreign.bytes)
        reader.read_at(foreign, 0, found)
        assert found == PAYLOAD[foreign.offset : foreign.end]
        stray_bytes(reader)
    with pytest.raises(VerificationError) as caught:
        verify_words(path, threads=1, observer=SilentObserver())
    assert str(caught.value) == message


def with_byte(position: int) -> bytes:
    """The sample, its JSON not padded, with another byte than zero there."""
    data = bytearray(entry_bytes(TEXT, blanks=False))
    data[position] = 9
    return bytes(data)


def test_bytes_between_objects_may_be_anything_but_not_those_before_the_payload(tmp_path: Path) -> None:
    path = tmp_path / "a.ninfer"
    path.write_bytes(with_byte(4096 + 100))
    with pytest.raises(VerificationError, match="expected a registered architecture"):
        verify_words(path, threads=1, observer=SilentObserver())
    path.write_bytes(with_byte(4000))
    message = r"byte 4000, in the gap before objects\[0\] 'frontend/é.json': expected zero, found 0x09$"
    with pytest.raises(VerificationError, match=message):
        verify_words(path, threads=1, observer=SilentObserver())


@pytest.mark.timeout(60)
def test_a_list_of_very_many_files_is_read_in_bounded_memory() -> None:
    count = 60_000
    files = ",".join(f'{{"path":"{number}","payload_bytes":1}}' for number in range(count))
    data = entry_bytes(TEXT.replace('"payload_bytes":1284}', '"payload_bytes":1284},' + files))
    with traced_peak() as peak:
        front = read_front(data, where="FILE")
    assert front.model is not None
    assert len(front.model.files) == count + 1
    assert peak() < 25 * len(data)


def test_a_list_of_a_million_files_is_refused_before_it_is_read() -> None:
    data = entry_bytes(
        TEXT.replace('"payload_bytes":1284}', '"payload_bytes":1284}' + ',{"path":0,"payload_bytes":1}' * 10**6)
    )
    message = r"^FILE: expected at most 2097152 values in the JSON, found up to 3000\d+$"
    with traced_peak() as peak, pytest.raises(ArtifactError, match=message):
        read_front(data, where="FILE")
    assert peak() < 2 * len(data)
