"""Positioned reads: exact, bounded in descriptors and memory, and only of files that are still what they were."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from schemas.errors import SourceError
from tests.sources.written import file_bytes, library_bytes, words, write_indexed
from workers.engine.sources.aligned import aligned_bytes
from workers.engine.sources.checkpoint import Checkpoint, open_checkpoint
from workers.engine.sources.reading import OpenFiles
from workers.engine.sources.roots import ANYWHERE

DATA = words(64_000, 9)


def write(path: Path) -> None:
    path.write_bytes(library_bytes({"a": ("uint8", (64_000,), DATA), "z": ("uint8", (0,), b"")}))


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    write(tmp_path / "model.safetensors")
    return open_checkpoint("base", tmp_path, ANYWHERE)


def sharded(folder: Path, count: int) -> Checkpoint:
    """`count` shards, each with one tensor of 1000 bytes that differ from shard to shard."""
    shards = {
        f"{number}.safetensors": library_bytes({f"t{number}": ("uint8", (1000,), words(1000, number))})
        for number in range(count)
    }
    write_indexed(folder, shards, {f"t{number}": f"{number}.safetensors" for number in range(count)})
    return open_checkpoint("base", folder, ANYWHERE)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize(("offset", "size"), [(0, 64_000), (0, 1), (63_999, 1), (17, 4096), (64_000, 0), (0, 0)])
def test_any_range_of_a_tensor(offset: int, size: int, checkpoint: Checkpoint) -> None:
    entry = checkpoint.tensor("a")
    with OpenFiles(ANYWHERE) as files:
        plain, guarded, aligned = bytearray(size), bytearray(b"\xaa" * (size + 20)), aligned_bytes(size)
        files.read_into(entry, offset, plain)
        files.read_into(entry, offset, memoryview(guarded)[10 : 10 + size])
        files.read_into(entry, offset, aligned)
    expected = DATA[offset : offset + size]
    assert plain == expected
    assert guarded == b"\xaa" * 10 + expected + b"\xaa" * 10
    assert aligned.tobytes() == expected


@pytest.mark.parametrize(("offset", "size"), [(-1, 1), (0, 64_001), (64_000, 1), (64_001, 0)])
def test_a_range_that_leaves_the_tensor(offset: int, size: int, checkpoint: Checkpoint) -> None:
    with OpenFiles(ANYWHERE) as files, pytest.raises(ValueError, match="of a tensor of 64000"):
        files.read_into(checkpoint.tensor("a"), offset, bytearray(size))


def test_reads_that_come_back_short_are_continued(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    preadv = os.preadv

    def a_little(descriptor: int, buffers: list[memoryview], offset: int) -> int:
        return preadv(descriptor, [buffers[0][:777]], offset)

    monkeypatch.setattr(os, "preadv", a_little)
    buffer = bytearray(64_000)
    with OpenFiles(ANYWHERE) as files:
        files.read_into(checkpoint.tensor("a"), 0, buffer)
    assert buffer == DATA


def test_a_read_that_the_device_fails(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> int:
        raise OSError(5, "Input/output error")

    with OpenFiles(ANYWHERE) as files:
        monkeypatch.setattr(os, "preadv", failing)
        with pytest.raises(SourceError, match=r"model\.safetensors, tensor 'a': .*Input/output error"):
            files.read_into(checkpoint.tensor("a"), 0, bytearray(10))


def modified(path: Path) -> None:
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def grown(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"x")


def replaced(path: Path) -> None:
    status = path.stat()
    write(path.with_name("new"))
    os.utime(path.with_name("new"), ns=(status.st_atime_ns, status.st_mtime_ns))
    path.with_name("new").rename(path)


def removed(path: Path) -> None:
    path.unlink()


CHANGES: tuple[tuple[Callable[[Path], None], str], ...] = (
    (modified, "found that it was modified since"),
    (truncated, "bytes where there were"),
    (grown, "bytes where there were"),
    (replaced, "found another file in its place"),
    (removed, "found nothing there"),
)


@pytest.mark.parametrize(("change", "says"), CHANGES)
def test_a_file_that_changed_before_it_was_opened(
    change: Callable[[Path], None], says: str, checkpoint: Checkpoint
) -> None:
    entry = checkpoint.tensor("a")
    change(entry.file.path)
    with OpenFiles(ANYWHERE) as files, pytest.raises(SourceError, match=rf"model\.safetensors, tensor 'a': .*{says}"):
        files.read_into(entry, 0, bytearray(10))


@pytest.mark.parametrize(("change", "says"), CHANGES[:3])
def test_a_file_that_changed_while_it_was_open(
    change: Callable[[Path], None], says: str, checkpoint: Checkpoint
) -> None:
    entry = checkpoint.tensor("a")
    with OpenFiles(ANYWHERE) as files:
        files.read_into(entry, 0, bytearray(10))
        change(entry.file.path)
        with pytest.raises(SourceError, match=rf"model\.safetensors, tensor 'a': .*{says}"):
            files.read_into(entry, 0, bytearray(10))


def test_a_file_that_ends_while_it_is_read(checkpoint: Checkpoint) -> None:
    entry = checkpoint.tensor("a")
    with OpenFiles(ANYWHERE) as files:
        files.read_into(entry, 0, bytearray(10))
        os.truncate(entry.file.path, entry.start + 100)
        with pytest.raises(SourceError, match=r"tensor 'a': expected 200 bytes from .*the end of the file after 100"):
            files.read_into(entry, 0, bytearray(200))


def test_descriptors_stay_few_and_are_closed(tmp_path: Path) -> None:
    checkpoint = sharded(tmp_path, 12)
    before = descriptors()
    with OpenFiles(ANYWHERE, limit=3) as files:
        for entry in checkpoint.tensors.values():
            files.read_into(entry, 0, bytearray(10))
            assert descriptors() <= before + 3
    assert descriptors() == before


def test_threads_read_their_own_bytes_while_descriptors_come_and_go(tmp_path: Path) -> None:
    checkpoint = sharded(tmp_path, 7)
    before = descriptors()
    with OpenFiles(ANYWHERE, limit=2) as files:

        def read(turn: int) -> bool:
            number, offset = turn % 7, turn * 13 % 900
            buffer = bytearray(100)
            files.read_into(checkpoint.tensor(f"t{number}"), offset, buffer)
            return bytes(buffer) == words(1000, number)[offset : offset + 100]

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(read, range(2000)))
        assert descriptors() <= before + 2
    assert descriptors() == before


def test_only_headers_are_read_when_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sparse shard of 64 MiB."""
    size = 64 << 20
    content = file_bytes({"a": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}})
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    os.truncate(path, len(content) + size)
    preadv = os.preadv
    reads: list[int] = []

    def counted(descriptor: int, buffers: list[memoryview], offset: int) -> int:
        reads.append(len(buffers[0]))
        return preadv(descriptor, buffers, offset)

    monkeypatch.setattr(os, "preadv", counted)
    open_checkpoint("base", tmp_path, ANYWHERE)
    assert sum(reads) < 2 * len(content)


def test_buffers_are_page_aligned_zeroed_and_writable() -> None:
    for size in (0, 1, 4096, 4097, 1 << 20):
        buffer = aligned_bytes(size)
        assert buffer.size == size
        assert size == 0 or buffer.ctypes.data % 4096 == 0
        assert not buffer.any()
        buffer[:] = 7
