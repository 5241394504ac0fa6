from __future__ import annotations

import errno
import os
import random
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from schemas.errors import OutputError
from schemas.registry import Format
from tests.container.samples import IDENTITY, OBJECTS, PAYLOADS, TEXT_1, TEXT_2, file_bytes
from tests.container.writing_processes import Piece, write_from_two_processes
from workers.engine.container.arrangement import arrange
from workers.engine.container.directory import Framing, SingleFileFraming
from workers.engine.container.placement import UnplacedResource, UnplacedTensor
from workers.engine.container.writer import ArtifactFiles

ARRANGEMENT = arrange(Framing.TWO, IDENTITY, OBJECTS)
WEIGHT = ARRANGEMENT.objects[2]

LARGE = arrange(
    Framing.TWO,
    IDENTITY,
    [
        UnplacedResource("r", 100_001),
        UnplacedTensor("a", (333, 1000), Format.Q6G64_F16S),
        UnplacedTensor("b", (100_003,), Format.BF16),
    ],
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.ninfer"


@pytest.mark.parametrize(("framing", "text"), [(Framing.ONE, TEXT_1), (Framing.TWO, TEXT_2)])
def test_the_whole_file_is_what_the_contract_spells(path: Path, framing: SingleFileFraming, text: str) -> None:
    arrangement = arrange(framing, IDENTITY, OBJECTS)
    with ArtifactFiles.create(path, arrangement) as file:
        for stored in reversed(arrangement.objects):
            file.write_at(stored, 0, PAYLOADS[stored.name])
        file.sync()
    assert path.read_bytes() == file_bytes(text, magic=b"NINFER\0" + bytes([framing]))


def test_a_new_file_has_its_full_size_and_is_zero_but_for_its_front(path: Path) -> None:
    with ArtifactFiles.create(path, ARRANGEMENT):
        assert path.read_bytes() == file_bytes(TEXT_2, bytes(1284))
        assert path.stat().st_blocks * 512 >= ARRANGEMENT.file_bytes, "its blocks are reserved"


def shuffled_pieces(seed: int) -> list[Piece]:
    """All payload bytes of LARGE in pieces of random lengths and order."""
    generator = random.Random(seed)  # noqa: S311 (a reproducible order, no secret)
    pieces = []
    for index, stored in enumerate(LARGE.objects):
        payload = large_payload(index)
        cuts = sorted({0, stored.bytes, *(generator.randrange(stored.bytes) for _ in range(60))})
        pieces += [(index, start, payload[start:stop]) for start, stop in pairwise(cuts)]
    generator.shuffle(pieces)
    return pieces


def large_payload(index: int) -> bytes:
    return random.Random(index).randbytes(LARGE.objects[index].bytes)  # noqa: S311 (bytes to tell apart)


def large_file() -> bytes:
    """The file of LARGE, joined by hand."""
    whole = LARGE.front().ljust(LARGE.payload_offset, b"\0")
    for index, stored in enumerate(LARGE.objects):
        whole = whole.ljust(LARGE.payload_offset + stored.offset, b"\0") + large_payload(index)
    return whole


def write_pieces(file: ArtifactFiles, pieces: list[Piece]) -> None:
    for index, offset, data in pieces:
        file.write_at(LARGE.objects[index], offset, data)


def test_several_threads_fill_one_file_in_any_order(path: Path) -> None:
    pieces = shuffled_pieces(1)
    with ArtifactFiles.create(path, LARGE) as file:
        threads = [threading.Thread(target=write_pieces, args=(file, pieces[i::4])) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert path.read_bytes() == large_file()


def test_two_processes_fill_one_file_in_any_order(path: Path) -> None:
    pieces = shuffled_pieces(2)
    ArtifactFiles.create(path, LARGE).close()
    write_from_two_processes(path, LARGE, pieces)
    assert path.read_bytes() == large_file()


def test_any_contiguous_buffer_is_written_as_its_bytes(path: Path) -> None:
    words = np.arange(264, dtype="<u2").reshape(4, 66)
    with ArtifactFiles.create(path, ARRANGEMENT) as file:
        file.write_at(WEIGHT, 0, words.data)
        file.write_at(WEIGHT, 528, b"")
        with pytest.raises(TypeError, match="C-contiguous"):
            file.write_at(WEIGHT, 0, words[:, ::2].data)
    assert path.read_bytes()[4096 + 512 : 4096 + 1040] == words.tobytes()


@pytest.mark.parametrize(("offset", "count"), [(-1, 1), (528, 1), (0, 529), (500, 29), (2**64, 0)])
def test_a_write_outside_its_object_is_refused_and_changes_nothing(path: Path, offset: int, count: int) -> None:
    with ArtifactFiles.create(path, ARRANGEMENT) as file:
        with pytest.raises(OutputError) as caught:
            file.write_at(WEIGHT, offset, b"x" * count)
        found = f"bytes {offset} to {offset + count}"
        assert str(caught.value) == f"{path}, object 'weight': expected bytes inside its 528, found {found}"
    assert path.read_bytes() == file_bytes(TEXT_2, bytes(1284))


def test_an_object_of_another_arrangement_is_refused(path: Path) -> None:
    with (
        ArtifactFiles.create(path, ARRANGEMENT) as file,
        pytest.raises(OutputError, match=r"object 'r': expected an object of this artifact, found ResourceObject"),
    ):
        file.write_at(LARGE.objects[0], 0, b"x")


def test_an_existing_file_is_left_alone(path: Path) -> None:
    path.write_bytes(b"precious")
    with pytest.raises(OutputError, match=r"a\.ninfer: expected a path not taken, found something there$"):
        ArtifactFiles.create(path, ARRANGEMENT)
    assert path.read_bytes() == b"precious"


def test_a_dangling_link_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="expected a path not taken"):
        ArtifactFiles.create(path, ARRANGEMENT)
    assert not (tmp_path / "elsewhere").exists()


def test_a_missing_folder_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"expected a file that can be created, found No such file or directory$"):
        ArtifactFiles.create(tmp_path / "none" / "a.ninfer", ARRANGEMENT)


def test_only_the_file_of_the_arrangement_is_opened(path: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"expected a file that can be written, found No such file or directory$"):
        ArtifactFiles.open(path, ARRANGEMENT)
    path.write_bytes(file_bytes(TEXT_2)[:-1])
    with pytest.raises(OutputError, match=r"expected the artifact's file of 5380 bytes, found 5379 bytes$"):
        ArtifactFiles.open(path, ARRANGEMENT)
    path.write_bytes(file_bytes(TEXT_2.replace("tiny", "Tiny")))
    with pytest.raises(OutputError, match=r"expected the artifact's own header and directory, found another one$"):
        ArtifactFiles.open(path, ARRANGEMENT)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OutputError, match=r"expected the artifact's file of 5380 bytes, found no regular file$"):
        ArtifactFiles.open(tmp_path / "fifo", ARRANGEMENT)


def test_a_file_larger_than_the_disk_is_refused_with_both_sizes(path: Path) -> None:
    huge = arrange(Framing.TWO, IDENTITY, [UnplacedResource("r", 2**62)])
    with pytest.raises(OutputError, match=rf": expected room for {huge.file_bytes} bytes, found \d+ bytes free$"):
        ArtifactFiles.create(path, huge)
    assert not path.exists()


@pytest.fixture
def file_size_limit() -> Iterator[Callable[[int], None]]:
    """Sets the largest file this process may write, until the test ends."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("preallocates", [True, False])
def test_a_limit_on_file_sizes_is_met_at_creation_and_leaves_nothing(
    path: Path, file_size_limit: Callable[[int], None], monkeypatch: pytest.MonkeyPatch, preallocates: bool
) -> None:
    if not preallocates:
        monkeypatch.setattr(os, "posix_fallocate", failing(errno.EOPNOTSUPP))
    file_size_limit(5379)
    with pytest.raises(OutputError, match=r": expected 5380 bytes to be written, found File too large$"):
        ArtifactFiles.create(path, ARRANGEMENT)
    assert not path.exists()


def failing(number: int) -> Callable[..., int]:
    def fail(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_fills_up_during_preallocation_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(os, "posix_fallocate", failing(number))
    with pytest.raises(OutputError, match=r": expected room for 5380 bytes, found \d+ bytes free$"):
        ArtifactFiles.create(path, ARRANGEMENT)
    assert not path.exists()


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.ENODEV])
def test_a_file_system_that_cannot_preallocate_gets_a_sparse_file(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(os, "posix_fallocate", failing(number))
    ArtifactFiles.create(path, ARRANGEMENT).close()
    assert path.read_bytes() == file_bytes(TEXT_2, bytes(1284))


def test_a_full_disk_during_a_write_says_how_much_was_left_to_write(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pwrite = os.pwrite
    left = [500]

    def fills_up(fd: int, view: memoryview, position: int) -> int:
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        count = pwrite(fd, view[: left[0]], position)
        left[0] -= count
        return count

    with ArtifactFiles.create(path, ARRANGEMENT) as file:
        monkeypatch.setattr(os, "pwrite", fills_up)
        with pytest.raises(OutputError, match=r": expected room for 28 bytes, found \d+ bytes free$"):
            file.write_at(WEIGHT, 0, PAYLOADS["weight"])


def test_a_failing_disk_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ArtifactFiles.create(path, ARRANGEMENT) as file:
        monkeypatch.setattr(os, "pwrite", failing(errno.EIO))
        with pytest.raises(OutputError, match=r": expected 528 bytes to be written, found Input/output error$"):
            file.write_at(WEIGHT, 0, PAYLOADS["weight"])
        monkeypatch.setattr(os, "fdatasync", failing(errno.EIO))
        with pytest.raises(OutputError, match=r": expected durable bytes, found Input/output error$"):
            file.sync()


def test_a_name_that_cannot_be_made_durable_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", failing(errno.EIO))
    with pytest.raises(OutputError, match=r": expected a durable name, found Input/output error$"):
        ArtifactFiles.create(path, ARRANGEMENT)
    assert not path.exists()


def test_short_writes_are_continued(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, view, position: pwrite(fd, view[:3], position))
    with ArtifactFiles.create(path, ARRANGEMENT) as file:
        for stored in ARRANGEMENT.objects:
            file.write_at(stored, 0, PAYLOADS[stored.name])
    assert path.read_bytes() == file_bytes(TEXT_2)


def test_signals_do_not_disturb_writes(path: Path) -> None:
    caught = []
    before = signal.signal(signal.SIGALRM, lambda *_: caught.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        with ArtifactFiles.create(path, LARGE) as file:
            for seed in range(20):
                write_pieces(file, shuffled_pieces(seed))
                file.sync()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert caught
    assert path.read_bytes() == large_file()


def test_a_closed_file_is_not_written(path: Path) -> None:
    file = ArtifactFiles.create(path, ARRANGEMENT)
    file.close()
    file.close()
    with pytest.raises(OutputError, match=r"expected 528 bytes to be written, found Bad file descriptor$"):
        file.write_at(WEIGHT, 0, PAYLOADS["weight"])
