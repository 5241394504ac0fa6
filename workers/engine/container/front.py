"""Reads the front of an artifact, its header and directory, and checks every rule of container.md or container-v3.md on
it.

Works on bytes alone and trusts none of them: whatever is wrong is an ArtifactError that says which object and member.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from schemas.errors import ArtifactError
from schemas.storage_layouts import U64_MAX, up
from workers.engine.container.directory import Framing, Identity, SingleFileFraming, StoredObject
from workers.engine.container.limits import check_json_bytes
from workers.engine.container.members import Record, as_record, check_members, member, text
from workers.engine.container.model_description import ModelDescription
from workers.engine.container.model_records import ListedFile, ModelDirectory, read_model
from workers.engine.container.object_records import read_objects
from workers.engine.container.slices import BLOCK, Slice
from workers.engine.container.strict_json import decode, describe

MAX_HEADER_BYTES = 32

_ENTRY = b"NINFER"
_CONTINUATION = b"NINPRT"
_ID_START = 16


@dataclass(frozen=True, slots=True)
class Prefix:
    """What stands before the JSON: framing number, length of the JSON, and the artifact's id in framing 3."""

    framing: Framing
    json_bytes: int
    artifact_id: bytes | None = None

    @property
    def bytes(self) -> int:
        """Where the JSON begins."""
        return header_bytes(self.framing)


@dataclass(frozen=True, slots=True)
class Front:
    """Header and directory. `directory` is the JSON as it stands in the file; object offsets count from the start of
    the payload, which begins at `payload_offset` of the entry. Framings 1 and 2 have an identity, framing 3 a model."""

    prefix: Prefix
    identity: Identity | None
    model: ModelDirectory | None
    objects: tuple[StoredObject, ...]
    directory: bytes
    payload_offset: int

    @property
    def framing(self) -> Framing:
        return self.prefix.framing

    @property
    def description(self) -> ModelDescription | None:
        """What framing 3 says of the objects."""
        return None if self.model is None else self.model.description

    @property
    def directory_end(self) -> int:
        """Where in the entry file the JSON ends."""
        return self.prefix.bytes + len(self.directory)

    @property
    def objects_end(self) -> int:
        """Where in the payload the last object ends."""
        return self.objects[-1].end

    def object(self, name: str) -> StoredObject:
        """The object of this name; ArtifactError if there is none."""
        for stored in self.objects:
            if stored.name == name:
                return stored
        raise ArtifactError(
            f"object {describe(name)}",
            expected=f"one of the {len(self.objects)} in the directory",
            found="none of this name",
        )


@dataclass(frozen=True, slots=True)
class Artifact(Front):
    """The front of an artifact whose files, by what is known from the entry, hold every object whole."""

    slices: tuple[Slice, ...]

    @property
    def file_bytes(self) -> int:
        """Of all files together."""
        return sum(one.file_bytes for one in self.slices)

    @property
    def payload_bytes(self) -> int:
        return self.slices[-1].stop


def header_bytes(framing: Framing) -> int:
    """What stands before the JSON in an entry file."""
    return MAX_HEADER_BYTES if framing is Framing.THREE else _ID_START


def read_prefix(data: bytes, *, file_bytes: int, where: str) -> Prefix:
    """The prefix of an entry file of `file_bytes` bytes that begins with `data`.

    Raises ArtifactError for a file too short, another magic or framing, and JSON that is empty, past the limit or cut.
    """
    if len(data) < _ID_START:
        raise ArtifactError(where, expected=f"a header of {_ID_START} bytes", found=f"{len(data)} bytes in all")
    framing = _framing(data[:8], f"{where}, magic")
    header = header_bytes(framing)
    if min(len(data), file_bytes) < header:
        found = f"{min(len(data), file_bytes)} bytes in all"
        raise ArtifactError(where, expected=f"a header of {header} bytes, as framing 3 has it", found=found)
    json_bytes = int.from_bytes(data[8:_ID_START], "little")
    place = f"{where}, length of the JSON"
    if json_bytes == 0:
        raise ArtifactError(place, expected="more than 0", found="0")
    if json_bytes > file_bytes - header:
        rest = file_bytes - header
        raise ArtifactError(place, expected=f"at most the {rest} bytes after the header", found=f"{json_bytes}")
    check_json_bytes(json_bytes, where=place)
    return Prefix(framing, json_bytes, data[_ID_START:header] or None)


def read_directory(prefix: Prefix, directory: bytes, *, where: str) -> Front:
    """The front whose JSON is `directory`.

    Raises ArtifactError for every rule of the directory but those that take the sizes of files, which are not known.
    """
    root = as_record(decode(directory, where=where), where=where)
    payload_offset = up(prefix.bytes + len(directory), BLOCK)
    if prefix.framing is Framing.THREE:
        model = read_model(root, where=where)
        return Front(prefix, None, model, model.objects, directory, payload_offset)
    identity = _identity(prefix.framing, root, where)
    objects = read_objects(member(root, "objects", where=where), where=where)
    end = payload_offset + objects[-1].end
    if end > U64_MAX:
        place = f"{where}, objects[{len(objects) - 1}] {describe(objects[-1].name)}"
        raise ArtifactError(place, expected=f"its end in the file at most {U64_MAX}", found=f"{end}")
    return Front(prefix, identity, None, objects, directory, payload_offset)


def read_front(data: bytes, *, where: str) -> Front:
    """The front in `data`, the beginning of an entry file whose size is not known.

    Raises ArtifactError as read_prefix and read_directory do, and where header and directory go on after it.
    """
    prefix = read_prefix(data[:MAX_HEADER_BYTES], file_bytes=U64_MAX, where=where)
    end = prefix.bytes + prefix.json_bytes
    if len(data) < end:
        expected = f"the first {end} bytes of the file, which header and directory take"
        raise ArtifactError(where, expected=expected, found=f"{len(data)} bytes")
    return read_directory(prefix, data[prefix.bytes : end], where=where)


def listed_slices(front: Front) -> tuple[Slice, ...] | None:
    """The files of an artifact as its directory lists them, which framings 1 and 2 do not."""
    return None if front.model is None else tuple(_listed(front, front.model.files))


def check_whole(front: Front, file_bytes: int, *, where: str) -> Artifact:
    """The artifact with this front in an entry file of `file_bytes` bytes.

    Raises ArtifactError naming the first object that does not end inside the one file of framing 1 or 2, and for an
    entry of framing 3 that is not exactly as long as its directory says.
    """
    slices = (
        _single_slice(front, file_bytes, where)
        if front.model is None
        else _listed_slices(front, front.model.files, file_bytes, where)
    )
    return Artifact(
        front.prefix, front.identity, front.model, front.objects, front.directory, front.payload_offset, slices
    )


def _single_slice(front: Front, file_bytes: int, where: str) -> tuple[Slice, ...]:
    for index, stored in enumerate(front.objects):
        end = front.payload_offset + stored.end
        if end > file_bytes:
            place = f"{where}, objects[{index}] {describe(stored.name)}"
            found = f"{file_bytes} bytes"
            raise ArtifactError(place, expected=f"a file that holds it up to byte {end}", found=found)
    return (Slice(None, front.payload_offset, 0, file_bytes - front.payload_offset),)


def _listed_slices(front: Front, files: Sequence[ListedFile], file_bytes: int, where: str) -> tuple[Slice, ...]:
    slices = tuple(_listed(front, files))
    if slices[0].file_bytes != file_bytes:
        expected = f"a file of {slices[0].file_bytes} bytes, header, directory and its slice of the payload"
        raise ArtifactError(where, expected=expected, found=f"{file_bytes} bytes")
    return slices


def _listed(front: Front, files: Sequence[ListedFile]) -> Iterator[Slice]:
    start = 0
    for one in files:
        offset = front.payload_offset if one.name is None else BLOCK
        yield Slice(one.name, offset, start, start + one.payload_bytes)
        start += one.payload_bytes


def _framing(magic: bytes, where: str) -> Framing:
    known = ", ".join(f"{framing}" for framing in Framing)
    family, zero, number = magic[:6], magic[6], magic[7]
    if family == _CONTINUATION:
        found = "NINPRT, a continuation file: give its entry, the file beside it that lists it"
        raise ArtifactError(where, expected="an entry file", found=found)
    if family != _ENTRY:
        raise ArtifactError(where, expected="NINFER: this is no .ninfer file", found=magic.hex(" "))
    if zero != 0:
        raise ArtifactError(where, expected="a zero byte after NINFER", found=f"0x{zero:02x}")
    try:
        return Framing(number)
    except ValueError:
        found = f"framing {number}, which is not known: update ninforge, or have the file made in one of {known}"
        raise ArtifactError(where, expected=f"one of the framings {known}", found=found) from None


def _identity(framing: SingleFileFraming, root: Record, where: str) -> Identity:
    if framing is Framing.ONE:
        check_members(root, ("model_id", "objects"), where=where)
        return Identity(text(root, "model_id", where=where), None)
    check_members(root, ("identity", "objects"), where=where)
    place = f"{where}, identity"
    identity = as_record(root["identity"], where=place)
    check_members(identity, ("model_id", "weights_id"), where=place)
    return Identity(text(identity, "model_id", where=place), text(identity, "weights_id", where=place))
