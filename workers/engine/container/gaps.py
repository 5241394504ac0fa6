"""Bytes of an artifact that belong to nothing: gaps, and what follows the last object (container.md, Directory;
container-v3.md, 2 and 5). `verify` refuses what is found here where the framing does, `inspect` reports it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workers.engine.container.directory import Framing
from workers.engine.container.front import MAX_HEADER_BYTES, Artifact
from workers.engine.container.reader import ArtifactReader
from workers.engine.container.slices import segments
from workers.engine.container.strict_json import describe


@dataclass(frozen=True, slots=True)
class Gap:
    """`bytes` bytes, at least one, at `offset` of a file, before what `before` names. In the payload of framing 3 they
    may be anything (`free`): an upgraded file keeps there what its directory no longer names."""

    file: int
    offset: int
    bytes: int
    before: str
    free: bool = False


@dataclass(frozen=True, slots=True)
class StrayBytes:
    """A finding at `offset` of a file: in a gap the first byte that is not zero, at the end the first byte too many.
    `free` where the framing gives it no meaning and allows it."""

    file: int
    offset: int
    where: str
    expected: str
    found: str
    free: bool

    def __str__(self) -> str:
        return f"{self.where}: expected {self.expected}, found {self.found}"


def gaps(artifact: Artifact) -> tuple[Gap, ...]:
    """The gaps between headers and payload and between objects, in file order."""
    free = artifact.framing is Framing.THREE
    found = [_front_gap(number, artifact) for number in range(len(artifact.slices))]
    end = 0
    for index, stored in enumerate(artifact.objects):
        if stored.offset > end:
            before = f"objects[{index}] {describe(stored.name)}"
            parts = segments(artifact.slices, end, stored.offset)
            found += [Gap(part.file, part.position, part.bytes, before, free) for part in parts]
        end = stored.end
    return tuple(sorted((gap for gap in found if gap.bytes), key=lambda gap: (gap.file, gap.offset)))


def stray_bytes(reader: ArtifactReader) -> tuple[StrayBytes, ...]:
    """What stands in the bytes outside headers, directory and objects: for each gap its first nonzero byte, then
    whatever follows the last object. Reads every gap, in blocks of bounded size.

    Raises ArtifactError where a file cannot be read.
    """
    return tuple(_stray_bytes(reader))


def _stray_bytes(reader: ArtifactReader) -> Iterator[StrayBytes]:
    for gap in gaps(reader.artifact):
        nonzero = reader.first_nonzero(gap.file, gap.offset, gap.offset + gap.bytes)
        if nonzero is not None:
            position, value = nonzero
            where = f"{reader.paths[gap.file]}, byte {position}, in the gap before {gap.before}"
            yield StrayBytes(gap.file, position, where, "zero", f"0x{value:02x}", gap.free)
    artifact = reader.artifact
    tail = next(segments(artifact.slices, artifact.objects_end, artifact.payload_bytes), None)
    if tail is not None:
        last = describe(artifact.objects[-1].name)
        where = f"{reader.paths[tail.file]}, byte {tail.position}, after the last object {last}"
        found = f"{artifact.payload_bytes - artifact.objects_end} more bytes"
        free = artifact.framing is Framing.THREE
        yield StrayBytes(tail.file, tail.position, where, "the end of the file", found, free)


def _front_gap(number: int, artifact: Artifact) -> Gap:
    end = MAX_HEADER_BYTES if number else artifact.directory_end
    before = "the payload" if number else f"objects[0] {describe(artifact.objects[0].name)}"
    return Gap(number, end, artifact.slices[number].payload_offset - end, before)
