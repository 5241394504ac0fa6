"""Lays out a whole artifact before a weight is read: offsets, directory bytes, file sizes (container.md).

Pure functions of what the artifact is to say and of the ordered objects. Sizes are closed forms of (format, shape), so
the directory of an inventory is reproducible byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from schemas.errors import ArtifactError
from schemas.storage_layouts import U64_MAX, up
from workers.engine.container.directory import Framing, Identity, SingleFileFraming, TensorObject
from workers.engine.container.limits import check_json_bytes, check_json_values
from workers.engine.container.model_description import ModelDescription
from workers.engine.container.placement import PlacedObject, UnplacedObject, check_text, place
from workers.engine.container.slices import BLOCK, Slice

ARTIFACT_ID_BYTES = 16
"""Bytes 16 to 32 of every file of framing 3."""

_ENTRY_MAGIC = b"NINFER\0"
_CONTINUATION_MAGIC = b"NINPRT\0"
_UNKNOWN_ID = bytes(ARTIFACT_ID_BYTES)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Everything of an artifact but its payloads.

    `directory` is the JSON as written, blanks after it included; object offsets count from the start of the payload,
    which lies in `slices`, one a file. `artifact_id` is what framing 3 has in each file's header: zeros stand there as
    long as it is None. `description` is what framing 3 says of the objects.
    """

    framing: Framing
    objects: tuple[PlacedObject, ...]
    directory: bytes
    directory_sha256: str
    slices: tuple[Slice, ...]
    description: ModelDescription | None = None
    artifact_id: bytes | None = None

    @property
    def payload_offset(self) -> int:
        """Where the payload begins in the entry file."""
        return self.slices[0].payload_offset

    @property
    def payload_bytes(self) -> int:
        return self.slices[-1].stop

    @property
    def file_bytes(self) -> int:
        """Of all files together."""
        return sum(one.file_bytes for one in self.slices)

    def front(self, file: int = 0) -> bytes:
        """The first bytes of a file, by its number; zeros follow up to its slice of the payload."""
        if file:
            return _header(_CONTINUATION_MAGIC, self.framing, file) + (self.artifact_id or _UNKNOWN_ID)
        header = _header(_ENTRY_MAGIC, self.framing, len(self.directory))
        if self.framing is Framing.THREE:
            header += self.artifact_id or _UNKNOWN_ID
        return header + self.directory


def arrange(framing: SingleFileFraming, identity: Identity, objects: Sequence[UnplacedObject]) -> Arrangement:
    """The arrangement of an artifact in framing 1 or 2.

    Raises ArtifactError and RegistryError as `place` does, and ArtifactError for a directory past the limits.
    """
    placed = place(objects)
    root = {**_identity_members(framing, identity), "objects": [_object_members(stored) for stored in placed]}
    directory = compact_json(root)
    payload_offset = up(len(_header(_ENTRY_MAGIC, framing, 0)) + len(directory), BLOCK)
    payload_bytes = placed[-1].end
    file_bytes = payload_offset + payload_bytes
    if file_bytes > U64_MAX:
        raise ArtifactError("arrangement", expected=f"a file of at most {U64_MAX} bytes", found=f"{file_bytes}")
    slices = (Slice(None, payload_offset, 0, payload_bytes),)
    return Arrangement(framing, placed, directory, sha256(directory).hexdigest(), slices)


def compact_json(root: object) -> bytes:
    """JSON without blanks, characters as they are. Raises ArtifactError for more of it than a reader takes."""
    directory = json.dumps(root, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    check_json_bytes(len(directory), where="arrangement")
    check_json_values(directory, where="arrangement")
    return directory


def _header(magic: bytes, framing: Framing, number: int) -> bytes:
    return magic + bytes([framing]) + number.to_bytes(8, "little")


def _identity_members(framing: SingleFileFraming, identity: Identity) -> dict[str, object]:
    check_text(identity.model_id, where="model_id")
    if framing is Framing.ONE:
        return {"model_id": identity.model_id}
    if identity.weights_id is None:
        raise ArtifactError("weights_id", expected="an id, which framing 2 stores", found="none")
    check_text(identity.weights_id, where="weights_id")
    return {"identity": {"model_id": identity.model_id, "weights_id": identity.weights_id}}


def _object_members(stored: PlacedObject) -> dict[str, object]:
    if isinstance(stored, TensorObject):
        what = {"kind": "tensor", "shape": stored.shape, "format": stored.format, "layout": stored.layout}
    else:
        what = {"kind": "resource", "encoding": stored.encoding}
    return {"name": stored.name, **what, "offset": stored.offset, "bytes": stored.bytes}
