"""One file that is written in any order: room, positioned writes and reads, durability, each with its refusal."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

from schemas.errors import OutputError

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_CANNOT_PREALLOCATE = frozenset({errno.EINVAL, errno.ENODEV, errno.ENOSYS, errno.EOPNOTSUPP})

_sync_file_range = getattr(ctypes.CDLL(None), "sync_file_range", None)  # Linux has it, Python does not offer it
_SYNC_FILE_RANGE_WRITE = 2


def check_room(path: Path, size: int) -> None:
    """Raises OutputError where the file system of `path` has not `size` bytes free.

    Asked first, since a file system may fill the disk to its last block before it refuses.
    """
    try:
        status = os.statvfs(path.parent)
    except OSError as error:
        raise OutputError(str(path), expected="a file that can be created", found=reason(error)) from error
    free = status.f_bavail * status.f_frsize
    if size > free:
        raise _no_room(path, size, free)


def preallocate(file: int, path: Path, size: int) -> None:
    """Gives an empty file its size, and its room where the file system can. Raises OutputError."""
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        if error.errno not in _CANNOT_PREALLOCATE:
            raise refused(file, path, size, error) from error
        try:
            os.ftruncate(file, size)
        except OSError as failure:
            raise refused(file, path, size, failure) from failure


def write_fully(file: int, path: Path, position: int, view: memoryview) -> None:
    """Writes all of `view` at `position`. Raises OutputError."""
    while view.nbytes:
        try:
            count = os.pwrite(file, view, position)
        except OSError as error:
            raise refused(file, path, view.nbytes, error) from error
        view = view[count:]
        position += count


def begin_writing_back(file: int, position: int, count: int) -> None:
    """Lets the disk begin with bytes that were written, so that it works while others are made. `sync_file` tells
    whether it could."""
    if _sync_file_range is not None:
        _sync_file_range(file, ctypes.c_int64(position), ctypes.c_int64(count), _SYNC_FILE_RANGE_WRITE)


def read_back(file: int, path: Path, position: int, view: memoryview) -> None:
    """Fills all of `view` from `position` on. Raises OutputError."""
    while view.nbytes:
        try:
            count = os.preadv(file, [view], position)
        except OSError as error:
            raise OutputError(str(path), expected="readable bytes", found=reason(error)) from error
        if count == 0:
            found = f"the end of the file at byte {position}"
            raise OutputError(str(path), expected=f"{view.nbytes} more bytes", found=found)
        view = view[count:]
        position += count


def sync_file(file: int, path: Path) -> None:
    """Returns when all that was written is durable. Raises OutputError where the disk fails."""
    try:
        os.fdatasync(file)
    except OSError as error:
        raise OutputError(str(path), expected="durable bytes", found=reason(error)) from error


def sync_folder(folder: Path) -> None:
    """Returns when the names in a folder are durable. Raises OutputError where the disk fails."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    except OSError as error:
        raise OutputError(str(folder), expected="a durable name", found=reason(error)) from error
    finally:
        os.close(file)


def refused(file: int, path: Path, size: int, error: OSError) -> OutputError:
    """What to raise where `size` bytes could not be written."""
    if error.errno in _NO_ROOM:
        status = os.fstatvfs(file)
        return _no_room(path, size, status.f_bavail * status.f_frsize)
    return OutputError(str(path), expected=f"{size} bytes to be written", found=reason(error))


def reason(error: OSError) -> str:
    """An error of the operating system in its own words."""
    return error.strerror or str(error)


def _no_room(path: Path, size: int, free: int) -> OutputError:
    return OutputError(str(path), expected=f"room for {size} bytes", found=f"{free} bytes free")
