"""Whole files whose content goes in by its SHA-256: resources, and sources of `kind: file` (recipe.md)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from schemas.errors import SourceError
from workers.engine.sources.aligned import aligned_bytes
from workers.engine.sources.roots import Roots
from workers.engine.sources.source_file import (
    SourceFile,
    open_again,
    opened,
    read_fully,
    refuse_lfs_pointer,
    require_unchanged,
)

BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class HashedFile:
    """A file that is not empty, and the SHA-256 of its content in lowercase hex."""

    file: SourceFile
    sha256: str

    def blocks(self, roots: Roots) -> Generator[memoryview, None, None]:
        """The content in order, in blocks of BLOCK_BYTES at most; each is valid until the next is asked for.

        Raises SourceError where the file is no longer the one that was hashed, and after the last block where its
        content is another.
        """
        digest = hashlib.sha256()
        descriptor = open_again(self.file, roots, self.file)
        try:
            for block in _blocks(descriptor, self.file):
                digest.update(block)
                yield block
        finally:
            os.close(descriptor)
        if digest.hexdigest() != self.sha256:
            raise SourceError(self.file.where, expected=f"SHA-256 {self.sha256}", found=f"{digest.hexdigest()} now")

    def content(self, roots: Roots, *, limit: int) -> bytes:
        """The whole content. Raises SourceError as `blocks` does, and for more than `limit` bytes."""
        if self.file.bytes > limit:
            raise SourceError(self.file.where, expected=f"at most {limit} bytes", found=f"{self.file.bytes}")
        return b"".join(map(bytes, self.blocks(roots)))


def hash_file(owner: str, path: Path, roots: Roots, sha256: str | None = None) -> HashedFile:
    """Reads the file once for its SHA-256. `owner` says in messages whose it is: `resource tokenizer.json`.

    Raises SourceError where it is absent, empty, a Git LFS pointer, outside the roots, changes while it is read, or has
    another SHA-256 than the one given (lowercase hex).
    """
    digest = hashlib.sha256()
    with opened(owner, path, roots, expected="a file with content") as (descriptor, file):
        if file.bytes == 0:
            raise SourceError(file.where, expected="a file with content", found="an empty file")
        for block in _blocks(descriptor, file):
            if file.bytes == len(block):
                refuse_lfs_pointer(bytes(block), file.where)
            digest.update(block)
    found = digest.hexdigest()
    if sha256 is not None and found != sha256:
        raise SourceError(file.where, expected=f"SHA-256 {sha256}", found=found)
    return HashedFile(file, found)


def _blocks(descriptor: int, file: SourceFile) -> Iterator[memoryview]:
    buffer = aligned_bytes(min(file.bytes, BLOCK_BYTES)).data
    for start in range(0, file.bytes, BLOCK_BYTES):
        block = buffer[: file.bytes - start]
        read_fully(descriptor, block, start, file)
        require_unchanged(descriptor, file, file)
        yield block
