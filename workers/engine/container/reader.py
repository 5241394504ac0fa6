"""Opens an artifact to inspect or verify it: checked front, then positioned reads of anything in its files."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from schemas.errors import ArtifactError
from workers.engine.container.continuation import CONTINUATION_HEADER_BYTES, check_continuation
from workers.engine.container.directory import StoredObject
from workers.engine.container.front import MAX_HEADER_BYTES, Artifact, check_whole, read_directory, read_prefix
from workers.engine.container.slices import segments
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

    A continuation is opened where it is read, beside the entry or where `continuations` says, and its header is checked
    then. Raises ArtifactError where a file cannot be opened or read, is no regular file, or breaks a rule of its
    container.
    """

    def __init__(self, path: Path, continuations: Sequence[Path] = ()) -> None:
        self.path = path
        self.paths: tuple[Path, ...] = (path,)
        """Where the files of the artifact lie, the entry first."""
        self._entry = _open(path)
        self._checked: dict[int, FileStamp] = {}
        try:
            self.artifact = self._read_front()
            self.paths = (path, *continuations) if continuations else _paths(path, self.artifact)
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        """The descriptor of the entry, for what the kernel does with whole files."""
        return self._entry

    def stamps(self) -> tuple[FileStamp, ...]:
        """The stamp of each file as it is now."""
        found: list[FileStamp] = []
        for number in range(len(self.artifact.slices)):
            with self._opened(number) as file:
                found.append(FileStamp.of(os.fstat(file)))
        return tuple(found)

    def read_at(self, stored: StoredObject, offset: int, buffer: WriteableBuffer) -> None:
        """Fills `buffer` with bytes of the object from `offset` on."""
        view = memoryview(buffer).cast("B")
        if offset < 0 or offset + view.nbytes > stored.bytes:
            raise ArtifactError(
                f"{self.path}, object {describe(stored.name)}",
                expected=f"a read inside its {stored.bytes} bytes",
                found=f"bytes {offset} to {offset + view.nbytes}",
            )
        start = stored.offset + offset
        for segment in segments(self.artifact.slices, start, start + view.nbytes):
            self.read_file_at(segment.file, segment.position, view[: segment.bytes])
            view = view[segment.bytes :]

    def read_file_at(self, number: int, position: int, buffer: WriteableBuffer) -> None:
        """Fills `buffer` with bytes of a file, by its number, from `position` on."""
        with self._opened(number) as file:
            self._read(file, number, position, memoryview(buffer).cast("B"))

    def first_nonzero(self, number: int, start: int, stop: int) -> tuple[int, int] | None:
        """Position and value of the first byte other than zero in [start, stop) of a file, if there is one.

        Holes of a sparse file are passed over without reading them.
        """
        buffer = bytearray(min(_SCAN_BYTES, stop - start))
        with self._opened(number) as file:
            while (start := self._next_data(file, number, start)) < stop:
                view = memoryview(buffer)[: min(_SCAN_BYTES, stop - start)]
                self._read(file, number, start, view)
                rest = view.tobytes().lstrip(b"\0")
                if rest:
                    return start + view.nbytes - len(rest), rest[0]
                start += view.nbytes
        return None

    def close(self) -> None:
        """Closes the files; reads after it fail."""
        entry, self._entry = self._entry, -1
        if entry >= 0:
            os.close(entry)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read_front(self) -> Artifact:
        where = str(self.path)
        file_bytes = os.fstat(self._entry).st_size
        header = bytearray(min(MAX_HEADER_BYTES, file_bytes))
        self._read(self._entry, 0, 0, memoryview(header))
        prefix = read_prefix(bytes(header), file_bytes=file_bytes, where=where)
        directory = bytearray(prefix.json_bytes)
        self._read(self._entry, 0, prefix.bytes, memoryview(directory))
        return check_whole(read_directory(prefix, bytes(directory), where=where), file_bytes, where=where)

    @contextmanager
    def _opened(self, number: int) -> Iterator[int]:
        """A file's descriptor. Only the entry stays open: there may be more continuations than a process may open."""
        if number == 0 or self._entry < 0:
            yield self._entry
            return
        file = _open(self.paths[number])
        try:
            self._check_continuation(file, number)
            yield file
        finally:
            os.close(file)

    def _check_continuation(self, file: int, number: int) -> None:
        """Checks header and length once, and on every later opening that it is still that file."""
        stamp = FileStamp.of(os.fstat(file))
        if self._checked.get(number) == stamp:
            return
        header = bytearray(min(CONTINUATION_HEADER_BYTES, stamp.bytes))
        self._read(file, number, 0, memoryview(header))
        check_continuation(bytes(header), stamp.bytes, self.artifact, number, where=str(self.paths[number]))
        self._checked[number] = stamp

    def _read(self, file: int, number: int, position: int, view: memoryview) -> None:
        while view.nbytes:
            try:
                count = os.preadv(file, [view], position)
            except OSError as error:
                raise self._unreadable(number, position, error) from error
            if count == 0:
                where = f"{self.paths[number]}, byte {position}"
                raise ArtifactError(where, expected=f"{view.nbytes} more bytes", found="the end of the file")
            view = view[count:]
            position += count

    def _next_data(self, file: int, number: int, position: int) -> int:
        """The first position at or after this one that is not in a hole; the file's size if only a hole follows."""
        try:
            return os.lseek(file, position, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise self._unreadable(number, position, error) from error
            return self.artifact.slices[number].file_bytes

    def _unreadable(self, number: int, position: int, error: OSError) -> ArtifactError:
        where = f"{self.paths[number]}, byte {position}"
        return ArtifactError(where, expected="readable bytes", found=_reason(error))


def read_artifact(path: Path) -> Artifact:
    """The artifact at `path` by the front of its entry alone: no payload is read, no continuation opened.

    Raises ArtifactError as ArtifactReader does.
    """
    with ArtifactReader(path) as reader:
        return reader.artifact


def _paths(entry: Path, artifact: Artifact) -> tuple[Path, ...]:
    """Where the files lie. Raises ArtifactError for an entry under the name of one of its continuations."""
    names = [one.name for one in artifact.slices if one.name is not None]
    if entry.name in names:
        expected = "an entry under another name than its continuations"
        raise ArtifactError(str(entry), expected=expected, found=f"{entry.name!r} listed as one of them")
    return (entry, *(entry.with_name(name) for name in names))


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
