"""An object of every format, with payloads to tell apart, for artifacts in parts of every size."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from schemas.registry import Format
from schemas.storage_layouts import payload
from tests.container.model_samples import inscription
from tests.container.writing_processes import Piece
from workers.engine.container.arrangement import Arrangement
from workers.engine.container.directory import StoredObject, TensorObject
from workers.engine.container.model_arrangement import arrange_model
from workers.engine.container.model_description import Component, ModelDescription
from workers.engine.container.placement import UnplacedObject, UnplacedResource, UnplacedTensor
from workers.engine.container.reader import ArtifactReader
from workers.engine.container.writer import ArtifactFiles

TENSORS = (
    UnplacedTensor("bf16", (3, 1001), Format.BF16),
    UnplacedTensor("fp32", (5, 17, 31), Format.FP32),
    UnplacedTensor("int32", (2000,), Format.I32),
    UnplacedTensor("q4", (33, 300), Format.Q4G64_F16S),
    UnplacedTensor("q5", (67, 500), Format.Q5G64_F16S),
    UnplacedTensor("q6", (67, 500), Format.Q6G64_F16S),
    UnplacedTensor("q8", (33, 300), Format.W8G32_F16S),
    UnplacedTensor("nvfp4", (256, 320), Format.NVFP4),
    UnplacedTensor("fp8", (2051, 5), Format.FP8_E4M3FN_ROW_BF16S),
)
"""One of each format. Most planes are longer than a block of 4096 bytes."""

EVERYTHING: tuple[UnplacedObject, ...] = (
    UnplacedResource("first", 4099),
    *TENSORS[:5],
    UnplacedResource("middle", 1),
    UnplacedResource("next", 8190),
    *TENSORS[5:],
    UnplacedResource("last", 5),
)


def arranged(objects: Sequence[UnplacedObject], part_bytes: int) -> Arrangement:
    """Objects in files of at most so many bytes, with as little said of them as may be."""
    description = ModelDescription({"text": Component({})}, {}, ())
    return arrange_model(inscription(description, part_bytes=part_bytes, metadata={}, provenance={}), objects)


def payload_of(stored: StoredObject) -> bytes:
    """Random bytes that are always the same, zeros between the planes of a tensor."""
    data = bytearray(random.Random(stored.name).randbytes(stored.bytes))  # noqa: S311 (bytes to tell apart)
    if isinstance(stored, TensorObject):
        end = 0
        for plane in payload(stored.format, stored.shape, where=stored.name).planes:
            data[end : plane.offset] = bytes(plane.offset - end)
            end = plane.end
    return bytes(data)


def shuffled_pieces(arrangement: Arrangement, seed: int) -> list[Piece]:
    """All payload bytes in pieces of random lengths and order."""
    generator = random.Random(seed)  # noqa: S311 (reproducible, no secret)
    pieces: list[Piece] = []
    for index, stored in enumerate(arrangement.objects):
        data = payload_of(stored)
        start = 0
        while start < len(data):
            stop = min(start + generator.randint(1, 9000), len(data))
            pieces.append((index, start, data[start:stop]))
            start = stop
    generator.shuffle(pieces)
    return pieces


def write_pieces(files: ArtifactFiles, pieces: Iterable[Piece]) -> None:
    for index, offset, data in pieces:
        files.write_at(files.arrangement.objects[index], offset, data)


def read_payloads(reader: ArtifactReader) -> list[bytes]:
    """Each object's payload, in one read."""
    found: list[bytes] = []
    for stored in reader.artifact.objects:
        data = bytearray(stored.bytes)
        reader.read_at(stored, 0, data)
        found.append(bytes(data))
    return found


def whole_payload(arrangement: Arrangement) -> bytes:
    """The payload joined by hand."""
    whole = b""
    for stored in arrangement.objects:
        whole = whole.ljust(stored.offset, b"\0") + payload_of(stored)
    return whole


def files_of(arrangement: Arrangement) -> list[bytes]:
    """The files joined by hand."""
    whole = whole_payload(arrangement)
    return [
        arrangement.front(number).ljust(one.payload_offset, b"\0") + whole[one.start : one.stop]
        for number, one in enumerate(arrangement.slices)
    ]


def put(folder: Path, arrangement: Arrangement, files: Sequence[bytes]) -> Path:
    """Writes files as they are under the names of the arrangement; returns the entry's path."""
    for one, data in zip(arrangement.slices, files, strict=True):
        (folder / (one.name or "m.ninfer")).write_bytes(data)
    return folder / "m.ninfer"


def named(arrangement: Arrangement, artifact_id: bytes) -> Arrangement:
    """The same artifact under another id."""
    return replace(arrangement, artifact_id=artifact_id)
