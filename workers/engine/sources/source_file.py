"""One file of a source: which file it is, that it stays the same, and small documents read whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from schemas.errors import SourceError
from workers.engine.file_stamp import FileStamp
from workers.engine.sources.roots import Roots, failure_words
from workers.engine.sources.wording import shown_path

WritableBuffer = bytearray | memoryview | npt.NDArray[np.uint8]

_LFS_POINTER = b"version https://git-lfs"


class Placed(Protocol):
    """What messages can name; the words are made only when a message is."""

    @property
    def where(self) -> str: ...


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A regular file as it was when it was first opened. `owner` says in messages whose it is: `source base`."""

    owner: str
    path: Path
    stamp: FileStamp

    @property
    def bytes(self) -> int:
        return self.stamp.bytes

    @property
    def where(self) -> str:
        return place_words(self.owner, self.path)


def place_words(owner: str, path: Path) -> str:
    """How messages name a file of a source."""
    return f"{owner}, file {shown_path(path)}"


@contextmanager
def opened(
    owner: str, path: Path, roots: Roots, *, expected: str = "a regular file"
) -> Iterator[tuple[int, SourceFile]]:
    """The file's descriptor while the block runs, and the file. Raises SourceError (see Roots.open_file)."""
    descriptor = roots.open_file(path, place_words(owner, path), expected=expected)
    try:
        yield descriptor, SourceFile(owner, path, FileStamp.of(os.fstat(descriptor)))
    finally:
        os.close(descriptor)


def open_again(file: SourceFile, roots: Roots, place: Placed) -> int:
    """A new descriptor of a file seen before; SourceError if another or a changed one has taken its place."""
    descriptor = roots.open_file(file.path, place.where)
    try:
        require_unchanged(descriptor, file, place)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def require_unchanged(descriptor: int, file: SourceFile, place: Placed) -> None:
    """SourceError unless the open file is the one that `file` describes, as it was then."""
    status, then = os.fstat(descriptor), file.stamp
    if status.st_ino != then.inode or status.st_dev != then.device:
        found = "another file in its place"
    elif status.st_size != then.bytes:
        found = f"{status.st_size} bytes where there were {then.bytes}"
    elif status.st_mtime_ns != then.modified_ns:
        found = "that it was modified since"
    else:
        return
    raise SourceError(place.where, expected="the file unchanged since it was first opened", found=found)


def flat_view(buffer: WritableBuffer) -> memoryview:
    """The bytes of a C-contiguous buffer."""
    view = buffer.data if isinstance(buffer, np.ndarray) else memoryview(buffer)
    return view.cast("B") if view.nbytes else memoryview(bytearray())


def read_fully(descriptor: int, view: memoryview, start: int, place: Placed) -> None:
    """Fills `view` with the bytes of the file from `start` on. SourceError where the file ends early or fails."""
    done = 0
    while done < len(view):
        try:
            count = os.preadv(descriptor, [view[done:]], start + done)
        except OSError as error:
            raise _unread(view, start, place, failure_words(error)) from error
        if count == 0:
            raise _unread(view, start, place, f"the end of the file after {done}")
        done += count


def _unread(view: memoryview, start: int, place: Placed, found: str) -> SourceError:
    return SourceError(place.where, expected=f"{len(view)} bytes from byte {start} on", found=found)


def refuse_lfs_pointer(head: bytes, where: str) -> None:
    """SourceError if the file begins as the small text that Git LFS leaves where a large file belongs."""
    if head.startswith(_LFS_POINTER):
        raise SourceError(
            where, expected="the file itself", found="a Git LFS pointer to it; fetch it with `git lfs pull`"
        )


def read_document(owner: str, path: Path, roots: Roots, *, expected: str, limit: int) -> bytes:
    """The whole content of a small file, of `limit` bytes at most. `expected` says what it is when it is absent.

    Raises SourceError where it is absent, empty, longer, a Git LFS pointer, or changes while it is read.
    """
    with opened(owner, path, roots, expected=expected) as (descriptor, file):
        if file.bytes == 0:
            raise SourceError(file.where, expected=expected, found="an empty file")
        if file.bytes > limit:
            raise SourceError(file.where, expected=f"at most {limit} bytes", found=f"{file.bytes}")
        content = bytearray(file.bytes)
        read_fully(descriptor, memoryview(content), 0, file)
        require_unchanged(descriptor, file, file)
    document = bytes(content)
    refuse_lfs_pointer(document, file.where)
    return document
