"""Lays out a whole artifact before a weight is read: offsets, directory bytes, file size (container.md, Directory).

A pure function of identity, framing and the ordered objects. Sizes are closed forms of (format, shape), so the
directory of an inventory is reproducible byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from schemas.errors import ArtifactError
from schemas.registry import FORMATS, Format, ResourceEncoding
from schemas.storage_layouts import ALIGNMENT, U64_MAX, payload, up
from workers.engine.container.directory import Framing, Identity, ResourceObject, StoredObject, TensorObject
from workers.engine.container.limits import check_json_bytes, check_json_values

PAYLOAD_ALIGNMENT = 4096

_MAGIC = b"NINFER\0"


@dataclass(frozen=True, slots=True)
class UnplacedTensor:
    """A tensor to store; its layout is the one that stores its format."""

    name: str
    shape: tuple[int, ...]
    format: Format


@dataclass(frozen=True, slots=True)
class UnplacedResource:
    """A resource of `bytes` bytes to store."""

    name: str
    bytes: int


UnplacedObject = UnplacedTensor | UnplacedResource


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Everything of an artifact but its payloads. `directory` is the JSON as written; object offsets count from
    `payload_offset`; the file ends at the last object's end."""

    framing: Framing
    identity: Identity
    objects: tuple[StoredObject, ...]
    directory: bytes
    directory_sha256: str
    payload_offset: int
    file_bytes: int

    @property
    def front(self) -> bytes:
        """The file's first bytes: 16 of prefix, then the directory."""
        return _MAGIC + bytes([self.framing]) + len(self.directory).to_bytes(8, "little") + self.directory


def arrange(framing: Framing, identity: Identity, objects: Sequence[UnplacedObject]) -> Arrangement:
    """Places every object at the first aligned offset after the one before it, and writes the directory.

    Raises ArtifactError for what no directory may hold (an empty or repeated name, an empty resource, no objects, sizes
    past unsigned 64 bits, a directory past the limits), RegistryError for a shape that its format does not store.
    """
    if not objects:
        raise ArtifactError("arrangement", expected="at least one object", found="none")
    _check_names(objects)
    placed = _place(objects)
    root = {**_identity_members(framing, identity), "objects": [_object_members(stored) for stored in placed]}
    directory = json.dumps(root, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    check_json_bytes(len(directory), where="arrangement")
    check_json_values(directory, where="arrangement")
    payload_offset = up(len(_MAGIC) + 1 + 8 + len(directory), PAYLOAD_ALIGNMENT)
    file_bytes = payload_offset + placed[-1].end
    if file_bytes > U64_MAX:
        raise ArtifactError("arrangement", expected=f"a file of at most {U64_MAX} bytes", found=f"{file_bytes}")
    return Arrangement(framing, identity, placed, directory, sha256(directory).hexdigest(), payload_offset, file_bytes)


def _check_names(objects: Sequence[UnplacedObject]) -> None:
    seen: set[str] = set()
    for index, unplaced in enumerate(objects):
        _check_text(unplaced.name, where=f"objects[{index}], name")
        if unplaced.name in seen:
            raise ArtifactError(f"objects[{index}], name", expected="a name not used before", found=repr(unplaced.name))
        seen.add(unplaced.name)


def _check_text(text: str, *, where: str) -> None:
    if not text:
        raise ArtifactError(where, expected="a non-empty string", found="an empty one")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ArtifactError(where, expected="text that UTF-8 can hold", found=repr(text)) from None


def _place(objects: Sequence[UnplacedObject]) -> tuple[StoredObject, ...]:
    placed: list[StoredObject] = []
    end = 0
    for unplaced in objects:
        stored = _place_one(unplaced, end)
        end = stored.end
        placed.append(stored)
    return tuple(placed)


def _place_one(unplaced: UnplacedObject, start: int) -> StoredObject:
    where = f"object {unplaced.name!r}"
    match unplaced:
        case UnplacedTensor(name, shape, format):
            layout = FORMATS[format].layout
            size = payload(format, shape, where=where).bytes
            return TensorObject(name, shape, format, layout, up(start, ALIGNMENT[layout]), size)
        case UnplacedResource(name, size):
            if size <= 0:
                raise ArtifactError(where, expected="a resource of at least one byte", found=f"{size} bytes")
            encoding = ResourceEncoding.RAW_BYTES
            return ResourceObject(name, encoding, up(start, ALIGNMENT[encoding]), size)


def _identity_members(framing: Framing, identity: Identity) -> dict[str, object]:
    _check_text(identity.model_id, where="model_id")
    match framing:
        case Framing.ONE:
            return {"model_id": identity.model_id}
        case Framing.TWO:
            if identity.weights_id is None:
                raise ArtifactError("weights_id", expected="an id, which framing 2 stores", found="none")
            _check_text(identity.weights_id, where="weights_id")
            return {"identity": {"model_id": identity.model_id, "weights_id": identity.weights_id}}


def _object_members(stored: StoredObject) -> dict[str, object]:
    match stored:
        case TensorObject():
            return {
                "name": stored.name,
                "kind": "tensor",
                "shape": stored.shape,
                "format": stored.format,
                "layout": stored.layout,
                "offset": stored.offset,
                "bytes": stored.bytes,
            }
        case ResourceObject():
            return {
                "name": stored.name,
                "kind": "resource",
                "encoding": stored.encoding,
                "offset": stored.offset,
                "bytes": stored.bytes,
            }
