"""Where tensors lie in their files, read again from the files themselves: nothing that planning noted is trusted."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from schemas.errors import SourceError
from workers.engine.scratch import Bytes


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes [start, stop) of an open file."""

    start: int
    stop: int


class OpenShard:
    """One safetensors file opened by the verifier, with the extent of each of its tensors."""

    def __init__(self, path: Path) -> None:
        """Raises SourceError where the file can no longer be read as one."""
        self.path = path
        try:
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise SourceError(
                f"file {path.name}", expected="the file that was planned with", found=str(error)
            ) from None
        try:
            length = min(int.from_bytes(os.pread(self._file, 8, 0), "little"), os.fstat(self._file).st_size)
            header = json.loads(os.pread(self._file, length, 8))
            self._extents = {
                name: Extent(8 + length + entry["data_offsets"][0], 8 + length + entry["data_offsets"][1])
                for name, entry in header.items()
                if name != "__metadata__"
            }
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            os.close(self._file)
            raise SourceError(
                f"file {path.name}", expected="the header that was planned with", found=str(error)
            ) from None

    def read(self, tensor: str, offset: int, out: Bytes) -> None:
        """Fills `out` from byte `offset` of the tensor's data on. Raises SourceError where it does not reach."""
        extent = self._extents.get(tensor)
        if extent is None or extent.start + offset + out.size > extent.stop:
            raise SourceError(
                f"file {self.path.name}, tensor {tensor}", expected="the tensor that was planned with", found="another"
            )
        read_exactly(self._file, extent.start + offset, out, where=f"file {self.path.name}, tensor {tensor}")

    def close(self) -> None:
        os.close(self._file)


def read_exactly(file: int, offset: int, out: Bytes, *, where: str) -> None:
    """Fills `out` from byte `offset` of an open file. Raises SourceError where the file ends before."""
    view = out.data
    done = 0
    while done < out.size:
        count = os.preadv(file, [view[done:]], offset + done)
        if count == 0:
            raise SourceError(where, expected=f"{out.size} bytes at {offset}", found=f"the file's end after {done}")
        done += count
