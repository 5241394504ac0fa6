"""What is looked at in a finished artifact as a whole: SHA-256 of its files, each payload's BLAKE3, and every byte that
belongs to no plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import pairwise

from blake3 import blake3

from schemas.errors import VerificationError
from schemas.storage_layouts import payload
from workers.engine.container.directory import StoredObject, TensorObject
from workers.engine.container.reader import ArtifactReader
from workers.engine.container.slices import segments
from workers.engine.scratch import Scratch
from workers.engine.steps import Step

PASS_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class WholeArtifact:
    """SHA-256 of each file, the entry first, and BLAKE3 of the payloads in the directory's order, in hexadecimal."""

    sha256: tuple[str, ...]
    payload_blake3: tuple[str, ...]


class Digests:
    """Digests of an artifact's files and payloads. Each is a step of its own: SHA-256 of a file, which threads cannot
    share, takes longest of all, and nothing else is to wait for it.

    `advanced` is told (object index, bytes of its payload that were digested) as it goes.
    """

    def __init__(self, reader: ArtifactReader, advanced: Callable[[int, int], None]) -> None:
        self._reader = reader
        self._advanced = advanced
        self._sha256: dict[int, str] = {}
        self._blake3: dict[int, str] = {}

    def of_files(self) -> Iterator[Step[None]]:
        """Reads every byte of every file once."""
        for number in range(len(self._reader.artifact.slices)):
            yield partial(self._file, number)

    def of_payload(self, index: int) -> Step[None]:
        """Reads the payload of one object once."""
        return partial(self._payload, index)

    def taken(self) -> WholeArtifact:
        """All digests, once every step has been taken."""
        artifact = self._reader.artifact
        return WholeArtifact(
            tuple(self._sha256[number] for number in range(len(artifact.slices))),
            tuple(self._blake3[index] for index in range(len(artifact.objects))),
        )

    def _file(self, number: int, scratch: Scratch) -> None:
        digest, size = sha256(), self._reader.artifact.slices[number].file_bytes
        for block in _blocks(partial(self._reader.read_file_at, number), size, scratch):
            digest.update(block)
            self._advanced(0, 0)
        self._sha256[number] = digest.hexdigest()

    def _payload(self, index: int, scratch: Scratch) -> None:
        digest, stored = blake3(), self._reader.artifact.objects[index]
        for block in _blocks(partial(self._reader.read_at, stored), stored.bytes, scratch):
            digest.update(block)
            self._advanced(index, block.nbytes)
        self._blake3[index] = digest.hexdigest()


def _blocks(read: Callable[[int, memoryview], None], size: int, scratch: Scratch) -> Iterator[memoryview]:
    """`size` bytes in order, each block valid until the next is asked for."""
    for start in range(0, size, PASS_BYTES):
        block = scratch.take("pass", min(PASS_BYTES, size - start)).data
        read(start, block)
        yield block


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
