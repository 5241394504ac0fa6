"""Bytes of an artifact that belong to nothing: gaps, which must be zero, and what follows the last object, which must
be nothing (container.md, Directory). `verify` refuses what is found here, `inspect` reports it."""

from __future__ import annotations

from dataclasses import dataclass

from workers.engine.container.front import PREFIX_BYTES, Front
from workers.engine.container.reader import ArtifactReader
from workers.engine.container.strict_json import describe


@dataclass(frozen=True, slots=True)
class Gap:
    """`bytes` bytes, at least one, at `offset` of the file, before what `before` names."""

    offset: int
    bytes: int
    before: str


@dataclass(frozen=True, slots=True)
class StrayBytes:
    """A fault at `offset` of the file: in a gap the first byte that is not zero, at the end the first byte too many."""

    offset: int
    where: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.where}: expected {self.expected}, found {self.found}"


def gaps(front: Front) -> tuple[Gap, ...]:
    """The gaps between directory and payload and between objects, in file order."""
    found: list[Gap] = []
    position = PREFIX_BYTES + front.json_bytes
    for index, stored in enumerate(front.objects):
        start = front.payload_offset + stored.offset
        if start > position:
            found.append(Gap(position, start - position, f"objects[{index}] {describe(stored.name)}"))
        position = start + stored.bytes
    return tuple(found)


def stray_bytes(reader: ArtifactReader) -> tuple[StrayBytes, ...]:
    """What is wrong with the bytes outside directory and objects: for each faulty gap its first nonzero byte, then
    whatever follows the last object. Reads every gap, in blocks of bounded size.

    Raises ArtifactError where the file cannot be read.
    """
    found: list[StrayBytes] = []
    for gap in gaps(reader.artifact):
        nonzero = reader.first_nonzero(gap.offset, gap.offset + gap.bytes)
        if nonzero is not None:
            position, value = nonzero
            where = f"{reader.path}, byte {position}, in the gap before {gap.before}"
            found.append(StrayBytes(position, where, "zero", f"0x{value:02x}"))
    artifact = reader.artifact
    extra = artifact.file_bytes - artifact.end
    if extra:
        last = describe(artifact.objects[-1].name)
        where = f"{reader.path}, byte {artifact.end}, after the last object {last}"
        found.append(StrayBytes(artifact.end, where, "the end of the file", f"{extra} more bytes"))
    return tuple(found)
