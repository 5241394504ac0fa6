"""What tells that a file is still the one that was looked at."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Identity, size in bytes and time of the last change of a file, as the file system keeps them."""

    device: int
    inode: int
    bytes: int
    modified_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileStamp:
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
