"""One pass over a finished artifact: SHA-256 of its files, each payload's BLAKE3, and every byte that belongs to no
plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

from blake3 import blake3

from schemas.errors import VerificationError
from schemas.storage_layouts import payload
from workers.engine.container.directory import StoredObject, TensorObject
from workers.engine.container.front import Artifact
from workers.engine.container.reader import ArtifactReader
from workers.engine.container.slices import segments
from workers.engine.scratch import Scratch

PASS_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class WholeArtifact:
    """SHA-256 of each file, the entry first, and BLAKE3 of the payloads in the directory's order, in hexadecimal."""

    sha256: tuple[str, ...]
    payload_blake3: tuple[str, ...]


def digest_files(
    reader: ArtifactReader, scratch: Scratch, advanced: Callable[[int, int], None] = lambda _index, _bytes: None
) -> WholeArtifact:
    """Reads every byte of every file once. `advanced` is told (object index, bytes) as it goes."""
    slices = reader.artifact.slices
    files = [sha256() for _ in slices]
    payloads: list[str] = []

    def blocks(number: int, position: int, count: int) -> Iterator[memoryview]:
        for start in range(position, position + count, PASS_BYTES):
            block = scratch.take("pass", min(PASS_BYTES, position + count - start))
            reader.read_file_at(number, start, block.data)
            files[number].update(block.data)
            yield block.data

    for number, one in enumerate(slices):
        for _ in blocks(number, 0, one.payload_offset):
            pass
    for start, stop, index in _spans(reader.artifact):
        digest = blake3()
        for part in segments(slices, start, stop):
            for block in blocks(part.file, part.position, part.bytes):
                if index is not None:
                    digest.update(block)
                    advanced(index, block.nbytes)
        if index is not None:
            payloads.append(digest.hexdigest())
    return WholeArtifact(tuple(one.hexdigest() for one in files), tuple(payloads))


def _spans(artifact: Artifact) -> Iterator[tuple[int, int, int | None]]:
    """The payload from its first byte to its last: (start, stop, index of the object or None for bytes of none)."""
    end = 0
    for index, stored in enumerate(artifact.objects):
        yield end, stored.offset, None
        yield stored.offset, stored.end, index
        end = stored.end
    yield end, artifact.payload_bytes, None


def check_plane_gaps(reader: ArtifactReader, objects: Sequence[StoredObject]) -> None:
    """Raises VerificationError, naming the object, for a byte other than zero between two planes of a payload."""
    for stored in objects:
        if not isinstance(stored, TensorObject):
            continue
        for start, stop, before in _plane_gaps(stored):
            offset = start
            for part in segments(reader.artifact.slices, stored.offset + start, stored.offset + stop):
                found = reader.first_nonzero(part.file, part.position, part.position + part.bytes)
                if found is not None:
                    position, value = found
                    at = offset + position - part.position
                    raise VerificationError(
                        f"object {stored.name}, payload byte {at}, in the gap before its {before}",
                        expected="zero",
                        found=f"0x{value:02x}",
                    )
                offset += part.bytes


def _plane_gaps(stored: TensorObject) -> Iterator[tuple[int, int, str]]:
    planes = payload(stored.format, stored.shape, where=f"object {stored.name}").planes
    for plane, following in pairwise(planes):
        if plane.end < following.offset:
            yield plane.end, following.offset, following.name
