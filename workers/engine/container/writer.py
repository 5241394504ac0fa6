"""Writes an artifact's file: its exact size first, then payloads at their offsets in any order (container.md).

Several threads may write through one ArtifactFile, and several processes through one each. Gaps are zero because
nothing is ever written there.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from schemas.errors import OutputError
from workers.engine.container.arrangement import Arrangement
from workers.engine.container.directory import StoredObject

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_CANNOT_PREALLOCATE = frozenset({errno.EINVAL, errno.ENODEV, errno.ENOSYS, errno.EOPNOTSUPP})


class ArtifactFile:
    """An artifact's file open for writing, made by `create` and joined by other processes with `open`."""

    def __init__(self, path: Path, arrangement: Arrangement, fd: int) -> None:
        self.path = path
        self.arrangement = arrangement
        self._objects = {stored.name: stored for stored in arrangement.objects}
        self._fd = fd

    @classmethod
    def create(cls, path: Path, arrangement: Arrangement) -> Self:
        """Creates the file at its final size, zero but for prefix and directory, and makes it and its name durable.

        Raises OutputError where the path is taken or cannot be written or the file has no room; nothing is left behind.
        """
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            raise OutputError(str(path), expected="a path not taken", found="something there") from None
        except OSError as error:
            raise OutputError(str(path), expected="a file that can be created", found=_reason(error)) from error
        created = cls(path, arrangement, fd)
        try:
            created._preallocate()
            created._write(0, memoryview(arrangement.front))
            created.sync()
            _sync_folder(path.parent)
        except BaseException:
            created.close()
            path.unlink()
            raise
        return created

    @classmethod
    def open(cls, path: Path, arrangement: Arrangement) -> Self:
        """Opens a file that `create` made of an equal arrangement.

        Raises OutputError where it cannot be opened, or is another file.
        """
        try:
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise OutputError(str(path), expected="a file that can be written", found=_reason(error)) from error
        opened = cls(path, arrangement, fd)
        try:
            opened._check_same()
        except BaseException:
            opened.close()
            raise
        return opened

    def write_at(self, stored: StoredObject, offset: int, buffer: ReadableBuffer) -> None:
        """Writes all of `buffer` into the object's payload, from `offset` of that payload on.

        Raises OutputError for bytes outside the object, an object of another arrangement, and a failing or full disk.
        """
        view = memoryview(buffer).cast("B")
        where = f"{self.path}, object {stored.name!r}"
        if self._objects.get(stored.name) != stored:
            raise OutputError(where, expected="an object of this artifact", found=f"{stored}")
        if offset < 0 or offset + view.nbytes > stored.bytes:
            raise OutputError(
                where,
                expected=f"a write inside its {stored.bytes} bytes",
                found=f"bytes {offset} to {offset + view.nbytes}",
            )
        self._write(self.arrangement.payload_offset + stored.offset + offset, view)

    def sync(self) -> None:
        """Returns when all that was written is durable. Raises OutputError where the disk fails."""
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            raise OutputError(str(self.path), expected="durable bytes", found=_reason(error)) from error

    def close(self) -> None:
        """Closes the file; writes after it fail."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _preallocate(self) -> None:
        size = self.arrangement.file_bytes
        free = self._free()
        # Asked first, since a file system may fill the disk to its last block before it refuses.
        if size > free:
            raise self._no_room(size, free)
        try:
            os.posix_fallocate(self._fd, 0, size)
        except OSError as error:
            if error.errno in _CANNOT_PREALLOCATE:
                self._extend(size)
            else:
                raise self._refused(size, error) from error

    def _extend(self, size: int) -> None:
        try:
            os.ftruncate(self._fd, size)
        except OSError as error:
            raise self._refused(size, error) from error

    def _write(self, position: int, view: memoryview) -> None:
        while view.nbytes:
            try:
                count = os.pwrite(self._fd, view, position)
            except OSError as error:
                raise self._refused(view.nbytes, error) from error
            view = view[count:]
            position += count

    def _check_same(self) -> None:
        status = os.fstat(self._fd)
        expected = self.arrangement.file_bytes
        if not stat.S_ISREG(status.st_mode) or status.st_size != expected:
            found = f"{status.st_size} bytes" if stat.S_ISREG(status.st_mode) else "no regular file"
            raise OutputError(str(self.path), expected=f"the artifact's file of {expected} bytes", found=found)
        front = self.arrangement.front
        if os.pread(self._fd, len(front), 0) != front:
            raise OutputError(str(self.path), expected="the artifact's own directory", found="another one")

    def _refused(self, size: int, error: OSError) -> OutputError:
        if error.errno in _NO_ROOM:
            return self._no_room(size, self._free())
        return OutputError(str(self.path), expected=f"{size} bytes to be written", found=_reason(error))

    def _no_room(self, size: int, free: int) -> OutputError:
        return OutputError(str(self.path), expected=f"room for {size} bytes", found=f"{free} bytes free")

    def _free(self) -> int:
        status = os.fstatvfs(self._fd)
        return status.f_bavail * status.f_frsize


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        raise OutputError(str(folder), expected="a durable name", found=_reason(error)) from error
    finally:
        os.close(fd)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
