from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import workers
from schemas.errors import ArtifactError
from tests.container.faults import FAULTS, Fault
from tests.container.memory import traced_peak
from tests.container.samples import IDENTITY, OBJECTS, PAYLOAD, PAYLOADS, TEXT_1, TEXT_2, document, file_bytes
from workers.engine.container.arrangement import arrange
from workers.engine.container.directory import Framing, Identity, SingleFileFraming
from workers.engine.container.front import check_whole, read_front
from workers.engine.container.gaps import Gap, gaps, stray_bytes
from workers.engine.container.reader import ArtifactReader, read_artifact


def written(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "a.ninfer"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("framing", "text", "identity"),
    [(Framing.ONE, TEXT_1, Identity("tiny", None)), (Framing.TWO, TEXT_2, IDENTITY)],
)
def test_what_a_file_says_is_read_back(
    tmp_path: Path, framing: SingleFileFraming, text: str, identity: Identity
) -> None:
    data = file_bytes(text, magic=b"NINFER\0" + bytes([framing]))
    artifact = read_artifact(written(tmp_path, data))
    assert artifact.framing is framing
    assert artifact.identity == identity
    assert artifact.objects == arrange(framing, IDENTITY, OBJECTS).objects
    assert artifact.directory == text.encode()
    assert artifact.payload_offset == 4096
    assert artifact.file_bytes == artifact.payload_offset + artifact.objects_end == len(data)


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_a_faulty_file_is_refused_with_its_own_message(tmp_path: Path, fault: Fault) -> None:
    path = written(tmp_path, fault.data)
    with pytest.raises(ArtifactError) as caught:
        read_artifact(path)
    assert str(caught.value).replace(str(path), "FILE") == fault.message


def test_no_two_faults_share_a_message() -> None:
    assert len({fault.message for fault in FAULTS}) == len(FAULTS) > 100


def test_json_past_the_limit_is_refused_unread(tmp_path: Path) -> None:
    path = written(tmp_path, b"NINFER\0\x02" + (2**26 + 1).to_bytes(8, "little"))
    os.truncate(path, 2**40)
    message = r"JSON: expected at most 67108864 bytes of JSON, found 67108865$"
    with traced_peak() as peak, pytest.raises(ArtifactError, match=message):
        read_artifact(path)
    assert peak() < 2**20


@pytest.mark.parametrize("piece", ["[],", '{"a":0},', '"\\u0123",', '{"k":[{}]},', "0,"])
def test_json_of_very_many_values_is_refused_before_they_are_built(piece: str) -> None:
    data = file_bytes("[" + piece * (2**21) + "0]")
    message = r"expected at most 2097152 values in the JSON, found up to \d+$"
    with traced_peak() as peak, pytest.raises(ArtifactError, match=message):
        read_front(data, where="FILE")
    assert peak() < 2 * len(data)


def test_spelling_does_not_matter_where_the_contract_leaves_it_open(tmp_path: Path) -> None:
    value = document()
    value["objects"] = [dict(reversed(entry.items())) for entry in value["objects"]]
    text = " \n" + json.dumps(dict(reversed(value.items())), indent=2, ensure_ascii=True) + "\t\n"
    assert "\\u00e9" in text
    artifact = read_artifact(written(tmp_path, file_bytes(text)))
    assert artifact.objects == arrange(Framing.TWO, IDENTITY, OBJECTS).objects


def test_names_differ_by_case_and_may_hold_anything_utf8_can() -> None:
    value = document()
    value["objects"][1]["name"] = "WEIGHT\0\U0001f642"
    value["objects"][3]["name"] = "Weight\0\U0001f642"
    names = [stored.name for stored in read_front(file_bytes(json.dumps(value)), where="FILE").objects]
    assert names == ["frontend/é.json", "WEIGHT\0\U0001f642", "weight", "Weight\0\U0001f642"]


def test_objects_may_lie_further_apart_than_a_writer_would_put_them() -> None:
    value = document()
    value["objects"][3]["offset"] = 2**40
    front = read_front(file_bytes(json.dumps(value)), where="FILE")
    assert front.objects_end == 2**40 + 4


def test_a_front_is_read_from_an_upload_without_its_payload() -> None:
    front = read_front(file_bytes(TEXT_2)[: 16 + len(TEXT_2.encode())], where="upload")
    assert front.payload_offset + front.objects_end == 4096 + 1284
    with pytest.raises(ArtifactError, match=r"^upload: expected the first 524 bytes of the file, .* found 523 bytes$"):
        read_front(file_bytes(TEXT_2)[: 15 + len(TEXT_2.encode())], where="upload")


def test_an_object_is_found_by_name(tmp_path: Path) -> None:
    artifact = read_artifact(written(tmp_path, file_bytes(TEXT_2)))
    assert artifact.object("weight") is artifact.objects[2]
    with pytest.raises(ArtifactError, match=r"^object 'Weight': expected one of the 4 in the directory, found none"):
        artifact.object("Weight")


def test_payloads_are_read_by_object_from_any_offset(tmp_path: Path) -> None:
    with ArtifactReader(written(tmp_path, file_bytes(TEXT_2))) as reader:
        for stored in reader.artifact.objects:
            whole = bytearray(stored.bytes)
            reader.read_at(stored, 0, whole)
            assert bytes(whole) == PAYLOADS[stored.name]
        part = bytearray(7)
        reader.read_at(reader.artifact.object("weight"), 521, part)
        assert bytes(part) == PAYLOADS["weight"][521:]


@pytest.mark.parametrize(("offset", "count"), [(-1, 1), (528, 1), (0, 529), (520, 9)])
def test_a_read_outside_its_object_is_refused(tmp_path: Path, offset: int, count: int) -> None:
    with ArtifactReader(written(tmp_path, file_bytes(TEXT_2))) as reader:
        weight = reader.artifact.object("weight")
        message = f"object 'weight': expected a read inside its 528 bytes, found bytes {offset} to {offset + count}$"
        with pytest.raises(ArtifactError, match=message):
            reader.read_at(weight, offset, bytearray(count))


def test_short_reads_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    preadv = os.preadv
    monkeypatch.setattr(os, "preadv", lambda fd, views, position: preadv(fd, [views[0][:3]], position))
    with ArtifactReader(written(tmp_path, file_bytes(TEXT_2))) as reader:
        whole = bytearray(528)
        reader.read_at(reader.artifact.object("weight"), 0, whole)
    assert bytes(whole) == PAYLOADS["weight"]


def test_a_file_that_shrinks_while_open_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, file_bytes(TEXT_2))
    with ArtifactReader(path) as reader:
        os.truncate(path, 4096 + 600)
        with pytest.raises(ArtifactError, match=r"byte 4696: expected 440 more bytes, found the end of the file$"):
            reader.read_at(reader.artifact.object("weight"), 0, bytearray(528))


def test_a_disk_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(5, os.strerror(5))

    path = written(tmp_path, file_bytes(TEXT_2))
    monkeypatch.setattr(os, "preadv", fail)
    with pytest.raises(ArtifactError, match=r"a\.ninfer, byte 0: expected readable bytes, found Input/output error$"):
        read_artifact(path)
    monkeypatch.undo()
    with ArtifactReader(path) as reader:
        monkeypatch.setattr(os, "lseek", fail)
        with pytest.raises(ArtifactError, match=r"byte \d+: expected readable bytes, found Input/output error$"):
            stray_bytes(reader)


def special_file(tmp_path: Path, kind: str) -> Path:
    path = tmp_path / "special"
    if kind == "a directory":
        path.mkdir()
    elif kind == "a FIFO":
        os.mkfifo(path)
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
    else:
        path = Path("/dev/zero")
    return path


@pytest.mark.parametrize("kind", ["a directory", "a FIFO", "a socket", "a character device"])
@pytest.mark.timeout(20)
def test_only_regular_files_are_read(tmp_path: Path, kind: str) -> None:
    with pytest.raises(ArtifactError, match=rf": expected a regular file, found {kind}$"):
        read_artifact(special_file(tmp_path, kind))


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(
        ArtifactError, match=r"none\.ninfer: expected a readable file, found No such file or directory$"
    ):
        read_artifact(tmp_path / "none.ninfer")


def test_a_refused_file_is_closed(tmp_path: Path) -> None:
    path = written(tmp_path, b"GGUF" * 8)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(ArtifactError):
        read_artifact(path)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


JSON_END = 16 + len(TEXT_2.encode())


def test_gaps_are_the_bytes_between_directory_and_objects() -> None:
    data = file_bytes(TEXT_2)
    assert gaps(check_whole(read_front(data, where="FILE"), len(data), where="FILE")) == (
        Gap(0, JSON_END, 4096 - JSON_END, "objects[0] 'frontend/é.json'"),
        Gap(0, 4101, 251, "objects[1] 'bias'"),
        Gap(0, 4358, 250, "objects[2] 'weight'"),
        Gap(0, 5136, 240, "objects[3] 'scalar'"),
    )


def test_a_clean_file_has_no_stray_bytes(tmp_path: Path) -> None:
    with ArtifactReader(written(tmp_path, file_bytes(TEXT_2))) as reader:
        assert stray_bytes(reader) == ()


@pytest.mark.parametrize(
    ("position", "gap"),
    [
        (JSON_END, "objects[0] 'frontend/é.json'"),
        (4095, "objects[0] 'frontend/é.json'"),
        (4101, "objects[1] 'bias'"),
        (4351, "objects[1] 'bias'"),
        (4607, "objects[2] 'weight'"),
        (5136, "objects[3] 'scalar'"),
        (5375, "objects[3] 'scalar'"),
    ],
)
def test_a_byte_in_a_gap_is_found_at_its_place(tmp_path: Path, position: int, gap: str) -> None:
    data = bytearray(file_bytes(TEXT_2))
    data[position] = 0x41
    path = written(tmp_path, bytes(data))
    with ArtifactReader(path) as reader:
        [stray] = stray_bytes(reader)
    assert stray.offset == position
    assert str(stray) == f"{path}, byte {position}, in the gap before {gap}: expected zero, found 0x41"


def test_every_faulty_gap_and_the_bytes_after_the_last_object_are_found(tmp_path: Path) -> None:
    data = bytearray(file_bytes(TEXT_2) + b"\0\0\0")
    data[4000] = data[4001] = data[4200] = data[5200] = 1
    path = written(tmp_path, bytes(data))
    with ArtifactReader(path) as reader:
        found = stray_bytes(reader)
    assert [stray.offset for stray in found] == [4000, 4200, 5200, 5380]
    message = f"{path}, byte 5380, after the last object 'scalar': expected the end of the file, found 3 more bytes"
    assert str(found[-1]) == message


def test_gaps_longer_than_a_block_are_scanned_to_their_end(tmp_path: Path) -> None:
    value = document()
    value["objects"][3]["offset"] = 5 * 2**19
    last = 4096 + 5 * 2**19 - 1
    payload = PAYLOAD[:-4] + bytes(5 * 2**19 - 1280 - 1) + b"\x07" + PAYLOAD[-4:]
    path = written(tmp_path, file_bytes(json.dumps(value), payload))
    with ArtifactReader(path) as reader:
        assert [stray.offset for stray in stray_bytes(reader)] == [last]


@pytest.mark.timeout(20)
def test_a_gap_of_terabytes_without_data_costs_nothing(tmp_path: Path) -> None:
    value = document()
    value["objects"][3]["offset"] = 8 * 2**40
    path = written(tmp_path, file_bytes(json.dumps(value)))
    os.truncate(path, 4096 + 8 * 2**40 + 4)
    with ArtifactReader(path) as reader:
        [stray] = stray_bytes(reader)
    assert stray.offset == 4096 + 1280 + 2, "the scalar's words now lie in the gap"


def test_several_threads_read_through_one_reader(tmp_path: Path) -> None:
    wrong: list[str] = []
    with ArtifactReader(written(tmp_path, file_bytes(TEXT_2))) as reader:

        def read_all() -> None:
            for _ in range(200):
                for stored in reader.artifact.objects:
                    whole = bytearray(stored.bytes)
                    reader.read_at(stored, 0, whole)
                    if bytes(whole) != PAYLOADS[stored.name]:
                        wrong.append(stored.name)

        threads = [threading.Thread(target=read_all) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_the_reader_uses_nothing_of_the_writer() -> None:
    script = "import sys, workers.engine.container.gaps; print([name for name in sys.modules if 'engine.' in name])"
    root = Path(workers.__file__).parents[1]
    run = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    assert "workers.engine.container.reader" in run.stdout
    assert "arrangement" not in run.stdout
    assert "writer" not in run.stdout
