"""Small artifacts of framing 3 spelled out by hand, to compare with what the code makes and to break on purpose."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from schemas.registry import Format
from workers.engine.container.model_arrangement import Inscription
from workers.engine.container.model_description import (
    ActivationPolicy,
    Component,
    ElementRange,
    JoinedRanges,
    ModelDescription,
    Proposal,
    Use,
    WholeTensor,
)
from workers.engine.container.placement import UnplacedObject, UnplacedResource, UnplacedTensor

ARTIFACT_ID = bytes(range(16))

OBJECTS: tuple[UnplacedObject, ...] = (
    UnplacedResource("frontend/é.json", 5),
    UnplacedTensor("matrix", (3, 2), Format.BF16),
    UnplacedTensor("weight", (2, 130), Format.Q5G64_F16S),
    UnplacedTensor("scalar", (), Format.FP32),
)

DESCRIPTION = ModelDescription(
    components={
        "text": Component(
            {"architectures": ["Example"], "eps": 9.999999974752427e-07, "layers": 2, "tied": False},
            resources={"é.json": "frontend/é.json"},
            proposal=Proposal(3),
        ),
        "mtp": Component({}, target="text"),
    },
    bindings={
        "text/a": WholeTensor("matrix"),
        "text/b": JoinedRanges((ElementRange("weight", 130, 260), ElementRange("matrix", 0, 2))),
    },
    uses=(
        Use("text/a", "text/x", ActivationPolicy.ALLOW_A4, {"activation_input_divisor": WholeTensor("scalar")}),
        Use("text/a", "mtp/x", None),
    ),
)

TEXT = (
    '{"components":{"text":{"config":{"architectures":["Example"],"eps":9.999999974752427e-07,"layers":2,"tied":false},'
    '"resources":{"é.json":"frontend/é.json"},"proposal":{"domain":"indexed","rows":3}},'
    '"mtp":{"config":{},"target":"text"}},"objects":['
    '{"id":"frontend/é.json","kind":"resource","encoding":"raw_bytes_v1","offset":0,"bytes":5},'
    '{"id":"matrix","kind":"tensor","shape":[3,2],"format":"bf16","layout":"contiguous_le_v1","offset":256,"bytes":12},'
    '{"id":"weight","kind":"tensor","shape":[2,130],"format":"q5_g64_fp16","layout":"row_split_k128_v1",'
    '"offset":512,"bytes":528},'
    '{"id":"scalar","kind":"tensor","shape":[],"format":"fp32","layout":"contiguous_le_v1","offset":1280,"bytes":4}],'
    '"bindings":{"text/a":{"object":"matrix"},"text/b":{"parts":[{"object":"weight","range":[130,260]},'
    '{"object":"matrix","range":[0,2]}]}},"uses":[{"parameter":"text/a","input":"text/x",'
    '"activation_policy":"AllowA4","auxiliaries":{"activation_input_divisor":{"object":"scalar"}}},'
    '{"parameter":"text/a","input":"mtp/x"}],"metadata":{"name":"tiny"},"provenance":{"converter":"é"},'
    '"files":[{"path":null,"payload_bytes":1284}]}'
)

PAYLOADS: dict[str, bytes] = {
    "frontend/é.json": b"{ } \n",
    "matrix": bytes(range(1, 13)),
    "weight": bytes(i % 255 + 1 for i in range(320)) + bytes(192) + bytes(range(1, 17)),
    "scalar": b"\x00\x00\x80\x3f",
}

PAYLOAD = (
    PAYLOADS["frontend/é.json"]
    + bytes(251)
    + PAYLOADS["matrix"]
    + bytes(244)
    + PAYLOADS["weight"]
    + bytes(240)
    + PAYLOADS["scalar"]
)


def inscription(description: ModelDescription = DESCRIPTION, **others: Any) -> Inscription:
    """What the sample says beside its objects, with other things said where they are given."""
    said: dict[str, Any] = {
        "metadata": {"name": "tiny"},
        "provenance": {"converter": "é"},
        "entry_name": "m.ninfer",
        "artifact_id": ARTIFACT_ID,
    }
    return Inscription(description, **{**said, **others})


def entry_bytes(
    directory: str | bytes, payload: bytes = PAYLOAD, *, magic: bytes = b"NINFER\0\x03", blanks: bool = True
) -> bytes:
    """An entry file with this directory text; up to the payload blanks of the JSON follow, or else zeros."""
    text = directory.encode() if isinstance(directory, str) else directory
    rest = -(32 + len(text)) % 4096
    if blanks:
        text += b" " * rest
    front = magic + len(text).to_bytes(8, "little") + ARTIFACT_ID + text
    return front + bytes(-len(front) % 4096) + payload


def continuation_bytes(number: int, payload: bytes) -> bytes:
    """Continuation file `number` with this slice of the payload."""
    return b"NINPRT\0\x03" + number.to_bytes(8, "little") + ARTIFACT_ID + bytes(4064) + payload


def document() -> dict[str, Any]:
    """The directory as a fresh value to change."""
    value: dict[str, Any] = json.loads(TEXT)
    return value


def sliced(value: dict[str, Any], payload: bytes, sizes: Sequence[int]) -> Iterator[tuple[str, bytes]]:
    """Names and bytes of the files of `m.ninfer`, its payload in slices of these sizes; `files` of the directory is
    set to them."""
    names = [None, *(f"m.ninfer.part-{number:04d}" for number in range(1, len(sizes)))]
    value["files"] = [{"path": name, "payload_bytes": size} for name, size in zip(names, sizes, strict=True)]
    assert sum(sizes) == len(payload)
    start = 0
    for number, (name, size) in enumerate(zip(names, sizes, strict=True)):
        piece = payload[start : start + size]
        if name is None:
            yield "m.ninfer", entry_bytes(json.dumps(value), piece)
        else:
            yield name, continuation_bytes(number, piece)
        start += size
