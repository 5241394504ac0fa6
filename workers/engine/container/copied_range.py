"""Copies part of one open file into another as cheaply as the file system can: sharing its blocks, else inside the
kernel, else through memory."""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from fcntl import ioctl

from workers.engine.container.slices import BLOCK

_FICLONERANGE = 0x4020940D
_CLONE_RANGE = struct.Struct("=qQQQ")
"""`struct file_clone_range` of linux/fs.h: descriptor, position and length of the source, position in the target."""
_MEMORY_BYTES = 1 << 20


def copy_range(source: int, source_start: int, target: int, target_start: int, count: int) -> int:
    """Copies `count` bytes between two descriptors, and returns how many it were: fewer where the source ends before.

    Raises OSError where reading or writing fails.
    """
    # Blocks begin together or never do.
    done = _plainly(source, source_start, target, target_start, min(count, -source_start % BLOCK))
    if done == -source_start % BLOCK:
        done += _shared(source, source_start + done, target, target_start + done, count - done)
    return done + _plainly(source, source_start + done, target, target_start + done, count - done)


def _plainly(source: int, source_start: int, target: int, target_start: int, count: int) -> int:
    """Copies without sharing: as many bytes as there are, up to `count`."""
    done = 0
    while done < count:
        copied = _copied(source, source_start + done, target, target_start + done, count - done)
        if copied == 0:
            break
        done += copied
    return done


def _shared(source: int, source_start: int, target: int, target_start: int, count: int) -> int:
    """Makes the target share whole blocks of the source. 0 where the file system cannot."""
    whole = count // BLOCK * BLOCK
    if whole == 0 or source_start % BLOCK or target_start % BLOCK:
        return 0
    # Whatever is in the way of it, copying works as well or tells what is wrong.
    with suppress(OSError):
        ioctl(target, _FICLONERANGE, _CLONE_RANGE.pack(source, source_start, whole, target_start))
        return whole
    return 0


def _copied(source: int, source_start: int, target: int, target_start: int, count: int) -> int:
    copied = 0
    with suppress(OSError):
        copied = os.copy_file_range(source, target, count, source_start, target_start)
    # Some file systems copy nothing and call it success, so that only a read tells the end of the source.
    return copied or _through_memory(source, source_start, target, target_start, min(count, _MEMORY_BYTES))


def _through_memory(source: int, source_start: int, target: int, target_start: int, count: int) -> int:
    view = memoryview(os.pread(source, count, source_start))
    read = view.nbytes
    while view.nbytes:
        written = os.pwrite(target, view, target_start)
        view = view[written:]
        target_start += written
    return read
