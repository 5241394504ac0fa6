"""Files on their way from a service: what has come of each lies under a name of its own until all of it is there."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from schemas.errors import OutputError

_BLOCK = 1 << 20


def partial_path(target: Path, digest: str) -> Path:
    """Where the bytes of a file of that SHA-256 gather that is to be `target`: never with those of another content."""
    return target.with_name(f"{target.name}.{digest[:16]}.partial")


class PartialFile:
    """The bytes of one file that have come so far, and their SHA-256."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self._file = file
        self._take_up()

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self._size

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def append(self, data: bytes) -> None:
        """Adds what has come. Raises OutputError where the disk is full; what was written before stays."""
        view = memoryview(data)
        with _refused(self.path):
            while view:
                written = self._file.write(view)
                self._digest.update(view[:written])
                self._size += written
                view = view[written:]

    def restart(self) -> None:
        """Forgets all of it."""
        with _refused(self.path):
            self._file.truncate(0)
        self._take_up()

    def make_durable(self) -> None:
        with _refused(self.path):
            os.fsync(self._file.fileno())

    def _take_up(self) -> None:
        self._digest = sha256()
        self._size = 0
        with _refused(self.path):
            self._file.seek(0)
            while data := self._file.read(_BLOCK):
                self._digest.update(data)
                self._size += len(data)


@contextmanager
def opened_partial(path: Path) -> Iterator[PartialFile]:
    """The partial file at `path`, empty where there is none yet, for this process alone while the block runs.

    It stays there afterwards. Raises OutputError where it cannot be written or another process is at it.
    """
    with _refused(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "r+b", buffering=0) as file:  # so that a kill loses nothing that was written
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            expected = "a file that no other process is downloading"
            raise OutputError(str(path), expected=expected, found="another one at it") from None
        yield PartialFile(path, file)


@contextmanager
def _refused(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        expected = "a file that can be written; what has come stays there, to be taken up again"
        raise OutputError(str(path), expected=expected, found=str(error.strerror)) from None
