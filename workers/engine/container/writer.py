"""Writes an artifact's files: their exact sizes first, then payloads at their offsets in any order (container.md,
container-v3.md).

Several threads may write through one ArtifactFiles, and several processes through one each. Gaps are zero because
nothing is ever written there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from schemas.errors import OutputError
from workers.engine.container.arrangement import ARTIFACT_ID_BYTES, Arrangement
from workers.engine.container.copied_range import copy_range
from workers.engine.container.directory import Framing, StoredObject
from workers.engine.container.front import Prefix, read_directory
from workers.engine.container.output_file import (
    begin_writing_back,
    check_room,
    preallocate,
    read_back,
    reason,
    refused,
    sync_file,
    sync_folder,
    write_fully,
)
from workers.engine.container.slices import Segment, segments

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

_ID_START = 16
_ID_STOP = _ID_START + ARTIFACT_ID_BYTES
_WRITTEN_BACK_BYTES = 1 << 15
"""The least that a disk is told of while the rest is being made."""


class ArtifactFiles:
    """The files of an artifact for writing, made by `create` and joined by other processes with `open`.

    The entry is at `path`, continuations lie beside it under the names that the directory gives them.
    """

    def __init__(self, path: Path, arrangement: Arrangement) -> None:
        self.path = path
        self.arrangement = arrangement
        self.paths = artifact_paths(path, arrangement)
        self._objects = {stored.name: stored for stored in arrangement.objects}
        self._entry = -1

    @classmethod
    def create(cls, path: Path, arrangement: Arrangement) -> Self:
        """Creates the files at their final sizes, zero but for headers and directory, and makes them and their names
        durable.

        Raises ArtifactError for a directory that a reader would refuse, OutputError where a path is taken or cannot be
        written or the files have no room; nothing is left behind.
        """
        if arrangement.framing is Framing.THREE:
            # Planning writes its directory from what planning knows to be right; this is the last look at it.
            prefix = Prefix(arrangement.framing, len(arrangement.directory))
            read_directory(prefix, arrangement.directory, where="arrangement")
        created = cls(path, arrangement)
        check_room(path, arrangement.file_bytes)
        made: list[Path] = []
        try:
            for number in range(len(created.paths)):
                created._create(number, made)
            sync_folder(path.parent)
            created._entry = created._open(0)
        except BaseException:
            created.close()
            for one in made:
                with suppress(FileNotFoundError):
                    one.unlink()
            raise
        return created

    @classmethod
    def open(cls, path: Path, arrangement: Arrangement) -> Self:
        """Opens files that `create` made of an equal arrangement, whatever artifact id they have by now.

        Raises OutputError where one cannot be opened, or is another file.
        """
        opened = cls(path, arrangement)
        opened._entry = opened._open(0)
        try:
            for number in range(len(opened.paths)):
                opened._check_same(number)
        except BaseException:
            opened.close()
            raise
        return opened

    def write_at(self, stored: StoredObject, offset: int, buffer: ReadableBuffer) -> None:
        """Writes all of `buffer` into the object's payload, from `offset` of that payload on.

        Raises OutputError for bytes outside the object, an object of another arrangement, and a failing or full disk.
        """
        view = memoryview(buffer).cast("B")
        for segment in self._segments(stored, offset, view.nbytes):
            with self._opened(segment.file) as file:
                write_fully(file, self.paths[segment.file], segment.position, view[: segment.bytes])
                if segment.bytes >= _WRITTEN_BACK_BYTES:
                    begin_writing_back(file, segment.position, segment.bytes)
            view = view[segment.bytes :]

    def read_at(self, stored: StoredObject, offset: int, buffer: WriteableBuffer) -> None:
        """Fills `buffer` with what the files hold of the object's payload, from `offset` of it on.

        Raises OutputError for bytes outside the object, an object of another arrangement, and a failing disk.
        """
        view = memoryview(buffer).cast("B")
        for segment in self._segments(stored, offset, view.nbytes):
            with self._opened(segment.file) as file:
                read_back(file, self.paths[segment.file], segment.position, view[: segment.bytes])
            view = view[segment.bytes :]

    def copy_at(self, start: int, source: int, position: int, count: int) -> None:
        """Copies `count` bytes of the open file `source`, from its byte `position` on, to byte `start` of the payload.

        Raises OutputError for a failing or full disk, and for a source that ends before.
        """
        for segment in segments(self.arrangement.slices, start, start + count):
            with self._opened(segment.file) as file:
                try:
                    copied = copy_range(source, position, file, segment.position, segment.bytes)
                except OSError as error:
                    raise refused(file, self.paths[segment.file], segment.bytes, error) from error
            if copied < segment.bytes:
                expected = f"{segment.bytes} bytes to copy from byte {position} on"
                raise OutputError(str(self.paths[segment.file]), expected=expected, found=f"{copied}")
            position += segment.bytes

    def write_artifact_id(self, artifact_id: bytes) -> None:
        """Writes the id into the header of every file of an artifact of framing 3, durably.

        Raises OutputError for another framing, an id that is not 16 bytes, and a failing disk.
        """
        if self.arrangement.framing is not Framing.THREE or len(artifact_id) != ARTIFACT_ID_BYTES:
            raise OutputError(
                f"{self.path}, artifact id",
                expected=f"{ARTIFACT_ID_BYTES} bytes for files of framing 3",
                found=f"{len(artifact_id)} for framing {self.arrangement.framing:d}",
            )
        for number in range(len(self.paths)):
            with self._opened(number) as file:
                write_fully(file, self.paths[number], _ID_START, memoryview(artifact_id))
        self.sync()

    def sync(self) -> None:
        """Returns when all that was written is durable. Raises OutputError where the disk fails."""
        for number in range(len(self.paths)):
            with self._opened(number) as file:
                sync_file(file, self.paths[number])

    def close(self) -> None:
        """Closes the files; writes after it fail."""
        entry, self._entry = self._entry, -1
        if entry >= 0:
            os.close(entry)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _opened(self, number: int) -> Iterator[int]:
        """A file's descriptor. Only the entry stays open: there may be more continuations than a process may open."""
        if number == 0 or self._entry < 0:
            yield self._entry
            return
        file = self._open(number)
        try:
            yield file
        finally:
            os.close(file)

    def _open(self, number: int) -> int:
        try:
            return os.open(self.paths[number], os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            expected = "a file that can be written"
            raise OutputError(str(self.paths[number]), expected=expected, found=reason(error)) from error

    def _create(self, number: int, made: list[Path]) -> None:
        path = self.paths[number]
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            raise OutputError(str(path), expected="a path not taken", found="something there") from None
        except OSError as error:
            raise OutputError(str(path), expected="a file that can be created", found=reason(error)) from error
        made.append(path)
        try:
            preallocate(file, path, self.arrangement.slices[number].file_bytes)
            write_fully(file, self.paths[number], 0, memoryview(self.arrangement.front(number)))
            sync_file(file, self.paths[number])
        finally:
            os.close(file)

    def _segments(self, stored: StoredObject, offset: int, count: int) -> Iterator[Segment]:
        """Where bytes of an object of this arrangement lie."""
        if self._objects.get(stored.name) != stored:
            where = f"{self.path}, object {stored.name!r}"
            raise OutputError(where, expected="an object of this artifact", found=f"{stored}")
        if offset < 0 or offset + count > stored.bytes:
            raise OutputError(
                f"{self.path}, object {stored.name!r}",
                expected=f"bytes inside its {stored.bytes}",
                found=f"bytes {offset} to {offset + count}",
            )
        return segments(self.arrangement.slices, stored.offset + offset, stored.offset + offset + count)

    def _check_same(self, number: int) -> None:
        path, expected = self.paths[number], self.arrangement.slices[number].file_bytes
        with self._opened(number) as file:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode) or status.st_size != expected:
                found = f"{status.st_size} bytes" if stat.S_ISREG(status.st_mode) else "no regular file"
                raise OutputError(str(path), expected=f"the artifact's file of {expected} bytes", found=found)
            front = bytearray(self.arrangement.front(number))
            found_front = bytearray(os.pread(file, len(front), 0))
        if self.arrangement.framing is Framing.THREE:
            front[_ID_START:_ID_STOP] = found_front[_ID_START:_ID_STOP]
        if found_front != front:
            raise OutputError(str(path), expected="the artifact's own header and directory", found="another one")


def artifact_paths(path: Path, arrangement: Arrangement) -> tuple[Path, ...]:
    """Where the files of an artifact lie whose entry is at `path`.

    Raises OutputError for an entry under the name of one of its continuations.
    """
    names = [one.name for one in arrangement.slices if one.name is not None]
    if path.name in names:
        raise OutputError(str(path), expected="another name than that of a continuation of this artifact", found="it")
    return (path, *(path.with_name(name) for name in names))
