"""Reads the front of an artifact, its prefix and directory, and checks every rule of container.md on it.

Works on bytes alone and trusts none of them: whatever is wrong is an ArtifactError that says which object and member.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemas.errors import ArtifactError
from schemas.storage_layouts import U64_MAX, up
from workers.engine.container.directory import Framing, Identity, StoredObject
from workers.engine.container.limits import check_json_bytes
from workers.engine.container.members import Record, as_record, check_members, member, text
from workers.engine.container.object_records import read_objects
from workers.engine.container.strict_json import decode, describe

PREFIX_BYTES = 16

_ENTRY = b"NINFER"
_CONTINUATION = b"NINPRT"
_MULTI_FILE_FRAMING = 3
_PAYLOAD_ALIGNMENT = 4096


@dataclass(frozen=True, slots=True)
class Prefix:
    """The first 16 bytes: framing number, and length of the JSON that follows."""

    framing: Framing
    json_bytes: int


@dataclass(frozen=True, slots=True)
class Front:
    """Prefix and directory. `directory` is the JSON as it stands in the file; object offsets count from
    `payload_offset`."""

    framing: Framing
    identity: Identity
    objects: tuple[StoredObject, ...]
    directory: bytes
    payload_offset: int

    @property
    def json_bytes(self) -> int:
        return len(self.directory)

    @property
    def end(self) -> int:
        """Where in the file the last object ends."""
        return self.payload_offset + self.objects[-1].end

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
    """The front of a file of `file_bytes` bytes that holds every object whole."""

    file_bytes: int


def read_prefix(data: bytes, *, file_bytes: int, where: str) -> Prefix:
    """The prefix of a file of `file_bytes` bytes that begins with `data`.

    Raises ArtifactError for a file too short, another magic or framing, and JSON that is empty, past the limit or cut.
    """
    if len(data) < PREFIX_BYTES:
        raise ArtifactError(where, expected=f"a prefix of {PREFIX_BYTES} bytes", found=f"{len(data)} bytes in all")
    framing = _framing(data[:8], f"{where}, magic")
    json_bytes = int.from_bytes(data[8:PREFIX_BYTES], "little")
    place = f"{where}, length of the JSON"
    if json_bytes == 0:
        raise ArtifactError(place, expected="more than 0", found="0")
    if json_bytes > file_bytes - PREFIX_BYTES:
        rest = file_bytes - PREFIX_BYTES
        raise ArtifactError(place, expected=f"at most the {rest} bytes after the prefix", found=f"{json_bytes}")
    check_json_bytes(json_bytes, where=place)
    return Prefix(framing, json_bytes)


def read_directory(framing: Framing, directory: bytes, *, where: str) -> Front:
    """The front whose JSON is `directory`.

    Raises ArtifactError for every rule of the directory but that objects end inside the file, whose size is not known.
    """
    root = as_record(decode(directory, where=where), where=where)
    identity = _identity(framing, root, where)
    objects = read_objects(member(root, "objects", where=where), where=where)
    payload_offset = up(PREFIX_BYTES + len(directory), _PAYLOAD_ALIGNMENT)
    front = Front(framing, identity, objects, directory, payload_offset)
    if front.end > U64_MAX:
        place = f"{where}, objects[{len(objects) - 1}] {describe(objects[-1].name)}"
        raise ArtifactError(place, expected=f"its end in the file at most {U64_MAX}", found=f"{front.end}")
    return front


def read_front(data: bytes, *, where: str) -> Front:
    """The front in `data`, a file's first bytes, at least as many as prefix and directory take.

    Raises ArtifactError as read_prefix and read_directory do.
    """
    prefix = read_prefix(data, file_bytes=len(data), where=where)
    return read_directory(prefix.framing, data[PREFIX_BYTES : PREFIX_BYTES + prefix.json_bytes], where=where)


def check_whole(front: Front, file_bytes: int, *, where: str) -> Artifact:
    """The artifact with this front in a file of `file_bytes` bytes.

    Raises ArtifactError naming the first object that does not end inside the file.
    """
    for index, stored in enumerate(front.objects):
        end = front.payload_offset + stored.end
        if end > file_bytes:
            place = f"{where}, objects[{index}] {describe(stored.name)}"
            raise ArtifactError(place, expected=f"a file that holds it up to byte {end}", found=f"{file_bytes} bytes")
    return Artifact(front.framing, front.identity, front.objects, front.directory, front.payload_offset, file_bytes)


def _framing(magic: bytes, where: str) -> Framing:
    known = " or ".join(f"{framing}" for framing in Framing)
    family, zero, number = magic[:6], magic[6], magic[7]
    if family == _CONTINUATION:
        found = "NINPRT, a continuation file: give its entry, the file of the same name without .part-NNNN"
        raise ArtifactError(where, expected="an entry file", found=found)
    if family != _ENTRY:
        raise ArtifactError(where, expected="NINFER: this is no .ninfer file", found=magic.hex(" "))
    if zero != 0:
        raise ArtifactError(where, expected="a zero byte after NINFER", found=f"0x{zero:02x}")
    if number == _MULTI_FILE_FRAMING:
        found = "framing 3, which this version does not read: use one that does"
        raise ArtifactError(where, expected=f"framing {known}", found=found)
    try:
        return Framing(number)
    except ValueError:
        found = f"framing {number}, which is not known: update ninforge, or have the file made in framing {known}"
        raise ArtifactError(where, expected=f"framing {known}", found=found) from None


def _identity(framing: Framing, root: Record, where: str) -> Identity:
    match framing:
        case Framing.ONE:
            check_members(root, ("model_id", "objects"), where=where)
            return Identity(text(root, "model_id", where=where), None)
        case Framing.TWO:
            check_members(root, ("identity", "objects"), where=where)
            place = f"{where}, identity"
            identity = as_record(root["identity"], where=place)
            check_members(identity, ("model_id", "weights_id"), where=place)
            return Identity(text(identity, "model_id", where=place), text(identity, "weights_id", where=place))
