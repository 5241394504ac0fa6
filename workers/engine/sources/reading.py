"""Positioned reads of tensor data: no shard is ever mapped, and no file read that changed since its header was."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from workers.engine.sources.roots import Roots
from workers.engine.sources.safetensors_header import TensorEntry
from workers.engine.sources.source_file import (
    SourceFile,
    WritableBuffer,
    flat_view,
    open_again,
    read_fully,
    require_unchanged,
)


@dataclass(slots=True)
class _Opened:
    descriptor: int
    readers: int = 0


class OpenFiles:
    """Reads source files by position, from any number of threads; at most `limit` descriptors are kept open besides
    those that a read is using.

    Use as a context manager; leaving it closes every descriptor once its reads have ended.
    """

    def __init__(self, roots: Roots, *, limit: int = 64) -> None:
        self._roots = roots
        self._limit = limit
        self._lock = threading.Lock()
        self._opened: OrderedDict[SourceFile, _Opened] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes what no read is using; what one is using is closed when that read ends."""
        with self._lock:
            self._limit = 0
            self._close_idle()

    def read_into(self, entry: TensorEntry, offset: int, buffer: WritableBuffer) -> None:
        """Fills the C-contiguous `buffer` with the tensor's bytes from byte `offset` of the tensor on.

        Raises SourceError, naming file and tensor, where the file is no longer the one whose header was read, has
        changed, ends early or cannot be read; ValueError for a range that leaves the tensor.
        """
        view = flat_view(buffer)
        if offset < 0 or offset + len(view) > entry.bytes:
            raise ValueError(f"bytes {offset} to {offset + len(view)} of a tensor of {entry.bytes}")
        opened = self._acquire(entry)
        try:
            read_fully(opened.descriptor, view, entry.start + offset, entry)
            require_unchanged(opened.descriptor, entry.file, entry)
        finally:
            self._release(opened)

    def _acquire(self, entry: TensorEntry) -> _Opened:
        with self._lock:
            opened = self._opened.get(entry.file)
            if opened is None:
                opened = self._opened[entry.file] = _Opened(open_again(entry.file, self._roots, entry))
            opened.readers += 1
            self._opened.move_to_end(entry.file)
            self._close_idle()
            return opened

    def _release(self, opened: _Opened) -> None:
        with self._lock:
            opened.readers -= 1
            self._close_idle()

    def _close_idle(self) -> None:
        """Closes the longest unused descriptors past the limit, leaving those that a read is using."""
        surplus = len(self._opened) - self._limit
        idle = [file for file, opened in self._opened.items() if opened.readers == 0] if surplus > 0 else []
        for file in idle[:surplus]:
            os.close(self._opened.pop(file).descriptor)
