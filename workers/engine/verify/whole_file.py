"""One pass over a finished file: its SHA-256, each payload's BLAKE3, and every byte that belongs to no plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

from blake3 import blake3

from schemas.errors import VerificationError
from schemas.storage_layouts import payload
from workers.engine.container.directory import StoredObject, TensorObject
from workers.engine.container.reader import ArtifactReader
from workers.engine.scratch import Scratch

PASS_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class WholeFile:
    """Digests in hexadecimal: of the file, and of the payloads in the directory's order."""

    sha256: str
    payload_blake3: tuple[str, ...]


def digest_file(
    reader: ArtifactReader, scratch: Scratch, advanced: Callable[[int, int], None] = lambda _index, _bytes: None
) -> WholeFile:
    """Reads the file once from first byte to last. `advanced` is told (object index, bytes) as it goes."""
    artifact = reader.artifact
    whole = sha256()
    position = 0
    payloads: list[str] = []

    def take(stop: int, *digests: Callable[[memoryview], object], index: int | None = None) -> None:
        nonlocal position
        while position < stop:
            block = scratch.take("pass", PASS_BYTES)[: min(PASS_BYTES, stop - position)]
            reader.read_file_at(position, block.data)
            for digest in digests:
                digest(block.data)
            position += block.size
            if index is not None:
                advanced(index, block.size)

    for index, stored in enumerate(artifact.objects):
        start = artifact.payload_offset + stored.offset
        take(start, whole.update)
        one = blake3()
        take(start + stored.bytes, whole.update, one.update, index=index)
        payloads.append(one.hexdigest())
    take(artifact.file_bytes, whole.update)
    return WholeFile(whole.hexdigest(), tuple(payloads))


def check_plane_gaps(reader: ArtifactReader, objects: Sequence[StoredObject]) -> None:
    """Raises VerificationError, naming the object, for a byte other than zero between two planes of a payload."""
    for stored in objects:
        if not isinstance(stored, TensorObject):
            continue
        for start, stop, before in _plane_gaps(stored):
            base = reader.artifact.payload_offset + stored.offset
            found = reader.first_nonzero(base + start, base + stop)
            if found is not None:
                position, value = found
                raise VerificationError(
                    f"object {stored.name}, payload byte {position - base}, in the gap before its {before}",
                    expected="zero",
                    found=f"0x{value:02x}",
                )


def _plane_gaps(stored: TensorObject) -> Iterator[tuple[int, int, str]]:
    planes = payload(stored.format, stored.shape, where=f"object {stored.name}").planes
    for plane, following in pairwise(planes):
        if plane.end < following.offset:
            yield plane.end, following.offset, following.name
