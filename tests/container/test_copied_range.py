"""Copies between files by each of the ways that a file system may allow."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.engine.container import copied_range
from workers.engine.container.copied_range import copy_range

BLOCK = 4096
CONTENT = bytes(range(251)) * 200
BEFORE = b"#" * 70_000


@pytest.fixture
def files(tmp_path: Path) -> Iterator[tuple[int, int]]:
    """Descriptors of a source and of a target that is there already."""
    (tmp_path / "source").write_bytes(CONTENT)
    (tmp_path / "target").write_bytes(BEFORE)
    source, target = os.open(tmp_path / "source", os.O_RDONLY), os.open(tmp_path / "target", os.O_RDWR)
    yield source, target
    os.close(source)
    os.close(target)


def content(target: int) -> bytes:
    return os.pread(target, len(BEFORE) + 1, 0)


def refuse(*_arguments: object) -> int:
    raise OSError(errno.EOPNOTSUPP, "not supported")


@pytest.fixture(params=["as it comes", "calls it success", "through memory"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How this file system copies; one that copies nothing and calls it success; one that cannot."""
    monkeypatch.setattr(copied_range, "_MEMORY_BYTES", 1000)
    match request.param:
        case "calls it success":
            monkeypatch.setattr(os, "copy_file_range", lambda *_arguments: 0)
        case "through memory":
            monkeypatch.setattr(os, "copy_file_range", refuse)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("source_start", "target_start", "count"),
    [(0, 0, len(CONTENT)), (BLOCK, 2 * BLOCK, 3 * BLOCK + 5), (1, 4, 9000), (7, 0, 1), (0, 0, 0)],
)
def test_the_range_is_copied_and_nothing_beside_it(
    files: tuple[int, int], source_start: int, target_start: int, count: int
) -> None:
    source, target = files
    assert copy_range(source, source_start, target, target_start, count) == count
    copied = CONTENT[source_start : source_start + count]
    assert content(target) == BEFORE[:target_start] + copied + BEFORE[target_start + count :]


@pytest.mark.usefixtures("way")
def test_a_source_that_ends_before_gives_fewer_bytes(files: tuple[int, int]) -> None:
    source, target = files
    assert copy_range(source, len(CONTENT) - 10, target, 0, 5000) == 10
    assert content(target) == CONTENT[-10:] + BEFORE[10:]


def test_whole_blocks_are_shared_where_the_file_system_can(
    files: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = files
    asked: list[tuple[int, ...]] = []

    def share(to: int, request: int, argument: bytes) -> int:
        assert (to, request) == (target, 0x4020940D)
        asked.append(struct.unpack("=qQQQ", argument))
        _, at, size, into = asked[-1]
        os.pwrite(target, os.pread(source, size, at), into)
        return 0

    monkeypatch.setattr(copied_range, "ioctl", share)
    count = 2 * BLOCK + 100
    assert copy_range(source, BLOCK, target, 3 * BLOCK, count) == count
    assert asked == [(source, BLOCK, 2 * BLOCK, 3 * BLOCK)]
    assert content(target) == BEFORE[: 3 * BLOCK] + CONTENT[BLOCK:][:count] + BEFORE[3 * BLOCK + count :]
    asked.clear()
    assert copy_range(source, BLOCK + 7, target, 7, 2 * BLOCK) == 2 * BLOCK
    assert asked == [(source, 2 * BLOCK, BLOCK, BLOCK)]
    assert content(target)[7 : 7 + 2 * BLOCK] == CONTENT[BLOCK + 7 :][: 2 * BLOCK]
    asked.clear()
    copy_range(source, 1, target, 0, BLOCK)
    copy_range(source, 0, target, 1, BLOCK)
    copy_range(source, 0, target, 0, BLOCK - 1)
    assert asked == []


def test_a_target_that_cannot_be_written_is_told(files: tuple[int, int]) -> None:
    source, _ = files
    with pytest.raises(OSError, match="Bad file descriptor"):
        copy_range(source, 0, source, BLOCK, BLOCK)
