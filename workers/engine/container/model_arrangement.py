"""Lays out a whole artifact in framing 3: components, bindings and uses beside the objects, and parts of any size
(container-v3.md, 2 to 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from schemas.errors import ArtifactError
from schemas.storage_layouts import U64_MAX, up
from workers.engine.container.arrangement import ARTIFACT_ID_BYTES, Arrangement, compact_json
from workers.engine.container.directory import Framing, TensorObject
from workers.engine.container.model_description import (
    Binding,
    Component,
    JoinedRanges,
    ModelDescription,
    Proposal,
    Use,
    WholeTensor,
)
from workers.engine.container.placement import PlacedObject, UnplacedObject, check_text, place
from workers.engine.container.slices import BLOCK, DEFAULT_PART_BYTES, Slice, split
from workers.engine.container.spellings import ENCODING_SPELLINGS, FORMAT_SPELLINGS, LAYOUT_SPELLINGS

_HEADER_BYTES = 32


@dataclass(frozen=True, slots=True)
class Inscription:
    """What an artifact of framing 3 says beside its objects.

    `metadata` and `provenance` are free in content. No file is larger than `part_bytes`; continuations are named after
    `entry_name`, whatever the entry is called. `artifact_id`, 16 bytes, may become known later.
    """

    description: ModelDescription
    metadata: Mapping[str, object]
    provenance: Mapping[str, object]
    entry_name: str
    part_bytes: int = DEFAULT_PART_BYTES
    artifact_id: bytes | None = None


def arrange_model(inscription: Inscription, objects: Sequence[UnplacedObject]) -> Arrangement:
    """The arrangement of an artifact in framing 3, its objects one after the other.

    Raises ArtifactError and RegistryError as `place` does, and ArtifactError for parts that could hold nothing and an
    id of another length. What else a reader would refuse is found when the files are created.
    """
    placed = place(objects)
    return arrange_placed(inscription, placed, placed[-1].end)


def arrange_placed(inscription: Inscription, placed: Sequence[PlacedObject], payload_bytes: int) -> Arrangement:
    """The arrangement in framing 3 of objects that have their places in a payload of that many bytes.

    Raises ArtifactError as `arrange_model` does.
    """
    _check(inscription)
    members = {
        "components": {name: _component(one) for name, one in inscription.description.components.items()},
        "objects": [_object(stored) for stored in placed],
        "bindings": {name: _binding(one) for name, one in inscription.description.bindings.items()},
        "uses": [_use(one) for one in inscription.description.uses],
        "metadata": inscription.metadata,
        "provenance": inscription.provenance,
    }
    # Only `files` depends on where the payload begins, so the rest is written once.
    before = compact_json(members)[:-1] + b',"files":'
    directory, slices = _fitted(before, inscription, payload_bytes)
    total = sum(one.file_bytes for one in slices)
    if total > U64_MAX:
        raise ArtifactError("arrangement", expected=f"files of at most {U64_MAX} bytes", found=f"{total}")
    return Arrangement(
        Framing.THREE,
        tuple(placed),
        directory,
        sha256(directory).hexdigest(),
        slices,
        inscription.description,
        inscription.artifact_id,
    )


def _fitted(before: bytes, inscription: Inscription, payload_bytes: int) -> tuple[bytes, tuple[Slice, ...]]:
    """The directory, padded so that the payload begins right after it, and the slices that it lists."""
    size = BLOCK - _HEADER_BYTES
    while True:
        slices = split(_HEADER_BYTES + size, payload_bytes, inscription.part_bytes, inscription.entry_name)
        files = [{"path": one.name, "payload_bytes": one.stop - one.start} for one in slices]
        text = before + compact_json(files) + b"}"
        if len(text) <= size:
            return text.ljust(size), slices
        size = up(_HEADER_BYTES + len(text), BLOCK) - _HEADER_BYTES


def _check(inscription: Inscription) -> None:
    check_text(inscription.entry_name, where="name of the entry file")
    if inscription.artifact_id is not None and len(inscription.artifact_id) != ARTIFACT_ID_BYTES:
        found = f"{len(inscription.artifact_id)} bytes"
        raise ArtifactError("artifact id", expected=f"{ARTIFACT_ID_BYTES} bytes", found=found)


def _component(component: Component) -> dict[str, object]:
    members: dict[str, object] = {"config": component.config}
    if component.target is not None:
        members["target"] = component.target
    if component.resources:
        members["resources"] = component.resources
    if component.proposal is not None:
        members["proposal"] = _proposal(component.proposal)
    return members


def _proposal(proposal: Proposal) -> dict[str, object]:
    return {"domain": "full"} if proposal.rows is None else {"domain": "indexed", "rows": proposal.rows}


def _object(stored: PlacedObject) -> dict[str, object]:
    what: dict[str, object]
    if isinstance(stored, TensorObject):
        format, layout = FORMAT_SPELLINGS[stored.format], LAYOUT_SPELLINGS[stored.layout]
        what = {"kind": "tensor", "shape": stored.shape, "format": format, "layout": layout}
    else:
        what = {"kind": "resource", "encoding": ENCODING_SPELLINGS[stored.encoding]}
    return {"id": stored.name, **what, "offset": stored.offset, "bytes": stored.bytes}


def _binding(binding: Binding) -> dict[str, object]:
    match binding:
        case WholeTensor(name):
            return {"object": name}
        case JoinedRanges(ranges):
            return {"parts": [{"object": one.object, "range": [one.start, one.stop]} for one in ranges]}


def _use(use: Use) -> dict[str, object]:
    members: dict[str, object] = {"parameter": use.parameter, "input": use.input}
    if use.policy is not None:
        members["activation_policy"] = use.policy
    if use.auxiliaries:
        members["auxiliaries"] = {role: _binding(one) for role, one in use.auxiliaries.items()}
    return members
