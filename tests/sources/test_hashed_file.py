"""Resources and file sources: their digest, and their content in blocks."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from schemas.errors import SourceError
from workers.engine.sources.hashed_file import BLOCK_BYTES, hash_file
from workers.engine.sources.roots import ANYWHERE, Roots


def write(path: Path, size: int) -> bytes:
    content = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8).tobytes()
    path.write_bytes(content)
    return content


@pytest.mark.parametrize("size", [1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 2 * BLOCK_BYTES + 5])
def test_digest_and_content(size: int, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    content = write(path, size)
    sha256 = hashlib.sha256(content).hexdigest()
    hashed = hash_file("resource tokenizer.json", path, ANYWHERE, sha256)
    assert hashed == hash_file("resource tokenizer.json", path, ANYWHERE)
    assert hashed.sha256 == sha256
    assert hashed.file.bytes == size
    assert b"".join(map(bytes, hashed.blocks(ANYWHERE))) == content
    assert all(len(block) <= BLOCK_BYTES for block in hashed.blocks(ANYWHERE))
    assert hashed.content(ANYWHERE, limit=size) == content


def test_another_digest_than_the_recipe_says(tmp_path: Path) -> None:
    path = tmp_path / "counts.i64"
    found = hashlib.sha256(write(path, 100)).hexdigest()
    with pytest.raises(SourceError) as caught:
        hash_file("source ranking", path, ANYWHERE, "ab" * 32)
    assert str(caught.value) == f"source ranking, file {path}: expected SHA-256 {'ab' * 32}, found {found}"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "expected a file with content, found an empty file"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n",
            "expected the file itself, found a Git LFS pointer",
        ),
        (None, "expected a file with content, found nothing there"),
    ],
)
def test_files_that_are_not_the_content(content: bytes | None, says: str, tmp_path: Path) -> None:
    path = tmp_path / "vocab.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SourceError, match=rf"resource vocab\.json, file .*/vocab\.json: {says}"):
        hash_file("resource vocab.json", path, ANYWHERE)


def test_content_past_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "big.json"
    write(path, 11)
    with pytest.raises(SourceError, match="at most 10 bytes, found 11"):
        hash_file("resource big.json", path, ANYWHERE).content(ANYWHERE, limit=10)


def test_outside_the_roots(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write(path, 3)
    with pytest.raises(SourceError, match="below the source roots"):
        hash_file("source ranking", path, Roots((tmp_path / "root",)))


def test_a_file_that_changed_after_it_was_hashed(tmp_path: Path) -> None:
    path = tmp_path / "merges.txt"
    write(path, 50)
    hashed = hash_file("resource merges.txt", path, ANYWHERE)
    write(path, 51)
    with pytest.raises(SourceError, match="found 51 bytes where there were 50"):
        hashed.content(ANYWHERE, limit=100)


def test_other_content_under_the_same_times_and_size(tmp_path: Path) -> None:
    path = tmp_path / "merges.txt"
    path.write_bytes(b"one")
    hashed = hash_file("resource merges.txt", path, ANYWHERE)
    with path.open("r+b") as file:
        file.write(b"two")
    os.utime(path, ns=(0, hashed.file.stamp.modified_ns))
    now = hashlib.sha256(b"two").hexdigest()
    with pytest.raises(SourceError, match=rf"expected SHA-256 {hashed.sha256}, found {now} now"):
        hashed.content(ANYWHERE, limit=100)


def test_descriptors_are_closed_when_the_blocks_are_left_early(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write(path, 3 * BLOCK_BYTES)
    hashed = hash_file("source ranking", path, ANYWHERE)
    before = len(list(Path("/proc/self/fd").iterdir()))
    blocks = hashed.blocks(ANYWHERE)
    next(blocks)
    blocks.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
