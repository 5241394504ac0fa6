"""Opens an artifact to inspect or verify it: checked front, then positioned reads of anything in the file."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from schemas.errors import ArtifactError
from workers.engine.container.directory import StoredObject
from workers.engine.container.front import PREFIX_BYTES, Artifact, check_whole, read_directory, read_prefix
from workers.engine.container.strict_json import describe
from workers.engine.file_stamp import FileStamp

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_SCAN_BYTES = 2**20

_FILE_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFSOCK: "a socket",
}


class ArtifactReader:
    """An open artifact whose front has been checked. Safe to read from several threads.

    Raises ArtifactError where the file cannot be opened or read, is no regular file, or breaks a rule of its container.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = _open(path)
        try:
            self.artifact = self._read_front()
        except BaseException:
            self.close()
            raise

    def stamp(self) -> FileStamp:
        """The stamp of the open file as it is now."""
        return FileStamp.of(os.fstat(self._fd))

    def read_at(self, stored: StoredObject, offset: int, buffer: WriteableBuffer) -> None:
        """Fills `buffer` with bytes of the object from `offset` on."""
        view = memoryview(buffer).cast("B")
        if offset < 0 or offset + view.nbytes > stored.bytes:
            raise ArtifactError(
                f"{self.path}, object {describe(stored.name)}",
                expected=f"a read inside its {stored.bytes} bytes",
                found=f"bytes {offset} to {offset + view.nbytes}",
            )
        self.read_file_at(self.artifact.payload_offset + stored.offset + offset, view)

    def read_file_at(self, position: int, buffer: WriteableBuffer) -> None:
        """Fills `buffer` with bytes of the file from `position` on."""
        view = memoryview(buffer).cast("B")
        while view.nbytes:
            try:
                count = os.preadv(self._fd, [view], position)
            except OSError as error:
                raise self._unreadable(position, error) from error
            if count == 0:
                raise ArtifactError(
                    f"{self.path}, byte {position}", expected=f"{view.nbytes} more bytes", found="the end of the file"
                )
            view = view[count:]
            position += count

    def first_nonzero(self, start: int, stop: int) -> tuple[int, int] | None:
        """Position and value of the first byte other than zero in [start, stop) of the file, if there is one.

        Holes of a sparse file are passed over without reading them.
        """
        buffer = bytearray(min(_SCAN_BYTES, stop - start))
        while (start := self._next_data(start)) < stop:
            view = memoryview(buffer)[: min(_SCAN_BYTES, stop - start)]
            self.read_file_at(start, view)
            rest = view.tobytes().lstrip(b"\0")
            if rest:
                return start + view.nbytes - len(rest), rest[0]
            start += view.nbytes
        return None

    def close(self) -> None:
        """Closes the file; reads after it fail."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read_front(self) -> Artifact:
        where = str(self.path)
        file_bytes = os.fstat(self._fd).st_size
        prefix_bytes = bytearray(min(PREFIX_BYTES, file_bytes))
        self.read_file_at(0, prefix_bytes)
        prefix = read_prefix(bytes(prefix_bytes), file_bytes=file_bytes, where=where)
        directory = bytearray(prefix.json_bytes)
        self.read_file_at(PREFIX_BYTES, directory)
        return check_whole(read_directory(prefix.framing, bytes(directory), where=where), file_bytes, where=where)

    def _next_data(self, position: int) -> int:
        """The first position at or after this one that is not in a hole; the file's size if only a hole follows."""
        try:
            return os.lseek(self._fd, position, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise self._unreadable(position, error) from error
            return self.artifact.file_bytes

    def _unreadable(self, position: int, error: OSError) -> ArtifactError:
        return ArtifactError(f"{self.path}, byte {position}", expected="readable bytes", found=_reason(error))


def read_artifact(path: Path) -> Artifact:
    """The artifact at `path` by its prefix and directory alone: no payload is read.

    Raises ArtifactError as ArtifactReader does.
    """
    with ArtifactReader(path) as reader:
        return reader.artifact


def _open(path: Path) -> int:
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise ArtifactError(str(path), expected="a regular file", found=_FILE_KINDS[stat.S_IFMT(mode)])
        # O_NONBLOCK: should a FIFO take the file's place meanwhile, opening it must not wait for a writer.
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise ArtifactError(str(path), expected="a readable file", found=_reason(error)) from error


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
