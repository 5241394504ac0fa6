"""The files of an artifact and which slice of the payload each holds (container-v3.md, 2 and 3)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from schemas.errors import ArtifactError

BLOCK = 4096
"""What payloads in files are aligned to, and what slices but the last are multiples of."""

DEFAULT_PART_BYTES = 32_000_000_000
"""Largest file of an artifact in framing 3, framing included."""

MAX_FILES = 100_000
"""This implementation's own limit: directory and time of a set of files grow with their number."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Bytes [start, stop) of the payload, in a file from `payload_offset` on to its end. `name` is that of a
    continuation; an entry has whatever name it is opened under."""

    name: str | None
    payload_offset: int
    start: int
    stop: int

    @property
    def file_bytes(self) -> int:
        return self.payload_offset + self.stop - self.start


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes of the payload that lie together in one file: `bytes` bytes at `position` of file number `file`."""

    file: int
    position: int
    bytes: int


def split(payload_offset: int, payload_bytes: int, limit: int, entry_name: str) -> tuple[Slice, ...]:
    """Slices of a payload so that no file is larger than `limit`; `payload_offset` is the entry's.

    Raises ArtifactError where no file could hold a block of it, or there would be too many.
    """
    if payload_offset + payload_bytes <= limit:
        return (Slice(None, payload_offset, 0, payload_bytes),)
    first, following = (room // BLOCK * BLOCK for room in (limit - payload_offset, limit - BLOCK))
    if first <= 0 or following <= 0:
        least = max(payload_offset, BLOCK) + BLOCK
        raise ArtifactError("bytes a part", expected=f"at least {least}, for directory and payload", found=f"{limit}")
    count = 1 + -(-(payload_bytes - first) // following)
    if count > MAX_FILES:
        raise ArtifactError(
            "bytes a part", expected=f"so many that there are at most {MAX_FILES} files", found=f"{limit}"
        )
    slices = [Slice(None, payload_offset, 0, first)]
    for number in range(1, count):
        start = slices[-1].stop
        stop = min(start + following, payload_bytes)
        slices.append(Slice(f"{entry_name}.part-{number:04d}", BLOCK, start, stop))
    return tuple(slices)


def segments(slices: Sequence[Slice], start: int, stop: int) -> Iterator[Segment]:
    """Where bytes [start, stop) of the payload lie, in order. They must lie inside the slices."""
    number = bisect_right(slices, start, key=lambda one: one.start) - 1
    while start < stop:
        one = slices[number]
        count = min(stop, one.stop) - start
        yield Segment(number, one.payload_offset + start - one.start, count)
        start += count
        number += 1
