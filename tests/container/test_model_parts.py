from __future__ import annotations

import hashlib
import os
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from blake3 import blake3

from schemas.errors import ArtifactError, OutputError, VerificationError
from schemas.registry import Format
from schemas.storage_layouts import payload
from tests.container.model_samples import ARTIFACT_ID, PAYLOAD, PAYLOADS, document, sliced
from tests.container.part_samples import (
    EVERYTHING,
    TENSORS,
    arranged,
    files_of,
    named,
    payload_of,
    put,
    read_payloads,
    shuffled_pieces,
    write_pieces,
)
from tests.container.writing_processes import write_from_two_processes
from workers.engine.container.gaps import stray_bytes
from workers.engine.container.placement import UnplacedResource, UnplacedTensor
from workers.engine.container.reader import ArtifactReader
from workers.engine.container.writer import ArtifactFiles
from workers.engine.scratch import Scratch
from workers.engine.steps import SilentObserver
from workers.engine.verify.whole_file import Digests, check_plane_gaps

BLOCK = 4096
SINGLE = arranged(EVERYTHING, 2**40)


def check_file_set(path: Path, expected: list[bytes]) -> None:
    """The artifact at `path` reads as the payloads given, has nothing stray, and is digested as it is."""
    with ArtifactReader(path) as reader:
        assert read_payloads(reader) == expected
        assert stray_bytes(reader) == ()
        check_plane_gaps(reader, reader.artifact.objects)
        digests = Digests(reader, SilentObserver().advanced)
        for step in (*digests.of_files(), *map(digests.of_payload, range(len(expected)))):
            step(Scratch())
        whole = digests.taken()
        assert whole.sha256 == tuple(hashlib.sha256(one.read_bytes()).hexdigest() for one in reader.paths)
    assert whole.payload_blake3 == tuple(blake3(one).hexdigest() for one in expected)


def cuts(tensor: UnplacedTensor) -> Iterator[int]:
    """Offsets in a tensor where a file may end: its edges, those of its planes, and inside each plane."""
    planes = payload(tensor.format, tensor.shape, where=tensor.name).planes
    for plane in planes:
        yield plane.offset
        if plane.bytes > 512:
            yield from (plane.offset + 256, plane.offset + plane.bytes // 2 // 256 * 256)
    yield -(-planes[-1].end // 256) * 256


@pytest.mark.parametrize("tensor", TENSORS, ids=[one.name for one in TENSORS])
def test_a_boundary_anywhere_in_a_tensor_changes_nothing(tmp_path: Path, tensor: UnplacedTensor) -> None:
    for cut in {*cuts(tensor)}:
        before = UnplacedResource("before", BLOCK - cut % BLOCK)
        arrangement = arranged([before, tensor, UnplacedResource("after", 300)], 2 * BLOCK)
        stored = arrangement.objects[1]
        assert stored.offset + cut in {one.stop for one in arrangement.slices} | {arrangement.payload_bytes}
        folder = tmp_path / f"{cut}"
        folder.mkdir()
        with ArtifactFiles.create(folder / "m.ninfer", arrangement) as files:
            write_pieces(files, shuffled_pieces(arrangement, seed=cut))
            for one in arrangement.objects:
                back = bytearray(one.bytes)
                files.read_at(one, 0, back)
                assert back == payload_of(one)
        assert [one.read_bytes() for one in files.paths] == files_of(arrangement)
        check_file_set(folder / "m.ninfer", [payload_of(one) for one in arrangement.objects])


def test_most_planes_are_longer_than_a_block_so_that_boundaries_fall_inside() -> None:
    planes = [plane for one in TENSORS for plane in payload(one.format, one.shape, where=one.name).planes]
    assert len({one.format for one in TENSORS}) == len(Format)
    assert sum(plane.bytes > BLOCK for plane in planes) > len(planes) // 2


LIMITS = [3 * BLOCK, 3 * BLOCK + 4095, 4 * BLOCK, 5 * BLOCK, 16 * BLOCK, SINGLE.file_bytes - 1, SINGLE.file_bytes]


@pytest.mark.parametrize("limit", LIMITS)
def test_threads_fill_parts_of_any_size_in_any_order(tmp_path: Path, limit: int) -> None:
    arrangement = arranged(EVERYTHING, limit)
    assert (len(arrangement.slices) == 1) == (limit == SINGLE.file_bytes)
    assert all(one.file_bytes <= limit for one in arrangement.slices)
    assert all((one.stop - one.start) % BLOCK == 0 for one in arrangement.slices[:-1])
    pieces = shuffled_pieces(arrangement, seed=limit)
    with ArtifactFiles.create(tmp_path / "m.ninfer", arrangement) as files:
        threads = [threading.Thread(target=write_pieces, args=(files, pieces[i::4])) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        files.sync()
    assert [one.read_bytes() for one in files.paths] == files_of(arrangement)
    check_file_set(tmp_path / "m.ninfer", [payload_of(one) for one in SINGLE.objects])


def test_two_processes_fill_the_parts_in_any_order(tmp_path: Path) -> None:
    arrangement = arranged(EVERYTHING, 3 * BLOCK)
    pieces = shuffled_pieces(arrangement, seed=2)
    path = tmp_path / "m.ninfer"
    ArtifactFiles.create(path, arrangement).close()
    write_from_two_processes(path, arrangement, pieces)
    check_file_set(path, [payload_of(one) for one in SINGLE.objects])


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    """No more than 40 files may be open at a time beside those that are open now."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(one.name) for one in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 40, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("few_descriptors")
def test_three_thousand_parts_take_few_descriptors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fdatasync", lambda _: None)  # three thousand of them would measure the disk alone
    arrangement = arranged([UnplacedResource("r", 3_000 * 51 * BLOCK)], 52 * BLOCK)
    [stored] = arrangement.objects
    assert len(arrangement.slices) > 3_000
    edges = [one.start for one in arrangement.slices[1:]]
    monkeypatch.setattr(os, "posix_fallocate", lambda file, _, size: os.ftruncate(file, size))
    with ArtifactFiles.create(tmp_path / "m.ninfer", arrangement) as files:
        for number, edge in enumerate(edges):
            files.write_at(stored, edge - 1, (number % 2**16).to_bytes(2, "little"))
        files.write_artifact_id(bytes(range(16, 32)))
        files.sync()
    ArtifactFiles.open(tmp_path / "m.ninfer", arrangement).close()
    with ArtifactReader(tmp_path / "m.ninfer") as reader:
        assert reader.artifact.prefix.artifact_id == bytes(range(16, 32))
        assert len(reader.stamps()) == len(arrangement.slices)
        for number, edge in enumerate(edges):
            word = bytearray(2)
            reader.read_at(stored, edge - 1, word)
            assert int.from_bytes(word, "little") == number % 2**16
        assert stray_bytes(reader) == ()


def test_closed_files_are_neither_written_nor_read(tmp_path: Path) -> None:
    arrangement = arranged(EVERYTHING, 3 * BLOCK)
    path = put(tmp_path, arrangement, files_of(arrangement))
    last = arrangement.objects[-1]
    files, reader = ArtifactFiles.open(path, arrangement), ArtifactReader(path)
    files.close()
    reader.close()
    with pytest.raises(OutputError, match=r"expected 5 bytes to be written, found Bad file descriptor$"):
        files.write_at(last, 0, b"12345")
    with pytest.raises(ArtifactError, match=r"expected readable bytes, found Bad file descriptor$"):
        reader.read_at(last, 0, bytearray(5))
    assert path.with_name(arrangement.slices[-1].name or "").read_bytes() == files_of(arrangement)[-1]


def test_an_artifact_id_reaches_every_file_and_leaves_the_rest(tmp_path: Path) -> None:
    unknown = named(arranged(EVERYTHING, 3 * BLOCK), bytes(16))
    path = put(tmp_path, unknown, files_of(unknown))
    with ArtifactFiles.open(path, unknown) as files:
        files.write_artifact_id(ARTIFACT_ID)
    assert [one.read_bytes() for one in files.paths] == files_of(named(unknown, ARTIFACT_ID))
    with ArtifactFiles.open(path, unknown) as files:
        files.write_at(unknown.objects[0], 0, payload_of(unknown.objects[0]))
    check_file_set(path, [payload_of(one) for one in SINGLE.objects])


@pytest.mark.parametrize("artifact_id", [b"", bytes(15), bytes(17)])
def test_only_sixteen_bytes_are_an_artifact_id(tmp_path: Path, artifact_id: bytes) -> None:
    path = put(tmp_path, SINGLE, files_of(SINGLE))
    message = rf"artifact id: expected 16 bytes for files of framing 3, found {len(artifact_id)} for framing 3$"
    with ArtifactFiles.open(path, SINGLE) as files, pytest.raises(OutputError, match=message):
        files.write_artifact_id(artifact_id)
    assert [path.read_bytes()] == files_of(SINGLE)


def test_only_the_files_of_the_arrangement_are_opened(tmp_path: Path) -> None:
    arrangement = arranged(EVERYTHING, 16 * BLOCK)
    path = put(tmp_path, arrangement, files_of(arrangement))
    part = tmp_path / "m.ninfer.part-0001"
    good = part.read_bytes()
    part.write_bytes(good[:-1])
    with pytest.raises(OutputError, match=rf"part-0001: expected the artifact's file of {16 * BLOCK} bytes, found"):
        ArtifactFiles.open(path, arrangement)
    part.write_bytes(good[:8] + b"\x02" + good[9:])
    with pytest.raises(OutputError, match=r"part-0001: expected the artifact's own header and directory, found anoth"):
        ArtifactFiles.open(path, arrangement)
    part.unlink()
    with pytest.raises(OutputError, match=r"part-0001: expected a file that can be written, found No such file"):
        ArtifactFiles.open(path, arrangement)


def test_an_entry_is_not_made_under_the_name_of_a_continuation(tmp_path: Path) -> None:
    message = r"expected another name than that of a continuation of this artifact, found it$"
    with pytest.raises(OutputError, match=message):
        ArtifactFiles.create(tmp_path / "m.ninfer.part-0002", arranged(EVERYTHING, 16 * BLOCK))
    assert [*tmp_path.iterdir()] == []


def test_a_part_whose_name_is_taken_leaves_that_file_and_nothing_else(tmp_path: Path) -> None:
    taken = tmp_path / "m.ninfer.part-0003"
    taken.write_bytes(b"precious")
    with pytest.raises(OutputError, match=r"part-0003: expected a path not taken, found something there$"):
        ArtifactFiles.create(tmp_path / "m.ninfer", arranged(EVERYTHING, 3 * BLOCK))
    assert [*tmp_path.iterdir()] == [taken]
    assert taken.read_bytes() == b"precious"


def put_sliced(folder: Path, sizes: list[int], payload: bytes = PAYLOAD) -> Path:
    """The small sample with a payload in slices of these sizes."""
    for name, data in sliced(document(), payload, sizes):
        (folder / name).write_bytes(data)
    return folder / "m.ninfer"


EDGES = (5, 256, 268, 512, 768, 832, 1024, 1040, 1280)
"""Of objects and planes in the small sample."""


@pytest.mark.parametrize("edge", EDGES)
def test_a_reader_takes_slices_that_end_at_any_byte(tmp_path: Path, edge: int) -> None:
    for first in (edge - 1, edge, edge + 1):
        for sizes in ([first, 1284 - first], [first, 1, 1283 - first], [1, first, 1283 - first]):
            check_file_set(put_sliced(tmp_path, sizes), [*PAYLOADS.values()])


@pytest.mark.parametrize("first", [768, 832, 833, 900, 1022, 1023, 1024])
@pytest.mark.parametrize("stray", [832, 833, 1023])
def test_a_byte_in_a_plane_gap_is_found_on_either_side_of_a_boundary(tmp_path: Path, first: int, stray: int) -> None:
    payload = bytearray(PAYLOAD)
    payload[stray] = 7
    path = put_sliced(tmp_path, [first, 1284 - first], bytes(payload))
    message = f"object weight, payload byte {stray - 512}, in the gap before its scales: expected zero, found 0x07"
    with ArtifactReader(path) as reader, pytest.raises(VerificationError) as caught:
        check_plane_gaps(reader, reader.artifact.objects)
    assert str(caught.value) == message


def test_reads_of_no_bytes_are_legal_up_to_the_very_end(tmp_path: Path) -> None:
    with ArtifactReader(put_sliced(tmp_path, [1280, 4])) as reader:
        for stored in reader.artifact.objects:
            reader.read_at(stored, 0, bytearray())
            reader.read_at(stored, stored.bytes, bytearray())
        with pytest.raises(ArtifactError, match=r"expected a read inside its 4 bytes, found bytes 5 to 5$"):
            reader.read_at(reader.artifact.objects[-1], 5, bytearray())


def test_stray_bytes_between_objects_are_found_in_every_part_and_are_free(tmp_path: Path) -> None:
    data = bytearray(PAYLOAD + b"\0\0\0")
    data[10] = data[200] = data[1100] = 1
    path = put_sliced(tmp_path, [100, 1000, 185, 2], bytes(data))
    with ArtifactReader(path) as reader:
        found = stray_bytes(reader)
    assert [(one.file, one.offset, one.free) for one in found] == [
        (0, 4096 + 10, True),
        (1, 4096 + 100, True),
        (2, 4096, True),
        (2, 4096 + 184, True),
    ]
    assert str(found[1]) == (
        f"{path}.part-0001, byte 4196, in the gap before objects[1] 'matrix': expected zero, found 0x01"
    )
    assert str(found[3]) == (
        f"{path}.part-0002, byte 4280, after the last object 'scalar': expected the end of the file, found 3 more bytes"
    )


@pytest.mark.parametrize("position", [32, 4095])
def test_stray_bytes_before_the_payload_of_a_continuation_are_not_free(tmp_path: Path, position: int) -> None:
    path = put_sliced(tmp_path, [1000, 284])
    part = tmp_path / "m.ninfer.part-0001"
    data = bytearray(part.read_bytes())
    data[position] = 9
    part.write_bytes(data)
    with ArtifactReader(path) as reader:
        [stray] = stray_bytes(reader)
    assert (stray.file, stray.offset, stray.free) == (1, position, False)
    assert str(stray) == f"{part}, byte {position}, in the gap before the payload: expected zero, found 0x09"
