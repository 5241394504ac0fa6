"""Small artifacts spelled out by hand, to compare with what the code makes and to break on purpose."""

from __future__ import annotations

import json
from typing import Any

from schemas.registry import Format
from workers.engine.container.directory import Identity
from workers.engine.container.placement import UnplacedObject, UnplacedResource, UnplacedTensor

IDENTITY = Identity("tiny", "mixed")

OBJECTS: tuple[UnplacedObject, ...] = (
    UnplacedResource("frontend/é.json", 5),
    UnplacedTensor("bias", (3,), Format.BF16),
    UnplacedTensor("weight", (2, 130), Format.Q5G64_F16S),
    UnplacedTensor("scalar", (), Format.FP32),
)

OBJECTS_TEXT = (
    '[{"name":"frontend/é.json","kind":"resource","encoding":"raw-bytes-v1","offset":0,"bytes":5},'
    '{"name":"bias","kind":"tensor","shape":[3],"format":"BF16","layout":"contiguous-le-v1","offset":256,"bytes":6},'
    '{"name":"weight","kind":"tensor","shape":[2,130],"format":"Q5G64_F16S","layout":"row-split-k128-v1",'
    '"offset":512,"bytes":528},'
    '{"name":"scalar","kind":"tensor","shape":[],"format":"FP32","layout":"contiguous-le-v1","offset":1280,"bytes":4}]'
)
TEXT_1 = '{"model_id":"tiny","objects":' + OBJECTS_TEXT + "}"
TEXT_2 = '{"identity":{"model_id":"tiny","weights_id":"mixed"},"objects":' + OBJECTS_TEXT + "}"

PAYLOADS: dict[str, bytes] = {
    "frontend/é.json": b"{ } \n",
    "bias": bytes(range(1, 7)),
    "weight": bytes(i % 255 + 1 for i in range(528)),
    "scalar": b"\x00\x00\x80\x3f",
}

PAYLOAD = (
    PAYLOADS["frontend/é.json"]
    + bytes(251)
    + PAYLOADS["bias"]
    + bytes(250)
    + PAYLOADS["weight"]
    + bytes(240)
    + PAYLOADS["scalar"]
)


def file_bytes(directory: str | bytes, payload: bytes = PAYLOAD, *, magic: bytes = b"NINFER\0\x02") -> bytes:
    """A file with this directory text: magic, length, text, zeros up to 4096, payload."""
    text = directory.encode() if isinstance(directory, str) else directory
    front = magic + len(text).to_bytes(8, "little") + text
    return front + bytes(-len(front) % 4096) + payload


def document() -> dict[str, Any]:
    """The framing 2 directory as a fresh value to change."""
    value: dict[str, Any] = json.loads(TEXT_2)
    return value
