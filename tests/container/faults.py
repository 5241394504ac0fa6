"""Faulty artifacts, each with the whole message that it must be refused with; `FILE` stands for the path."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.container.samples import OBJECTS_TEXT, TEXT_1, TEXT_2, document, file_bytes

OBJECT_0 = "FILE, objects[0] 'frontend/é.json'"
OBJECT_1 = "FILE, objects[1] 'bias'"
OBJECT_2 = "FILE, objects[2] 'weight'"
RESOURCE_MEMBERS = "only the members name, kind, encoding, offset, bytes"
TENSOR_MEMBERS = "only the members name, kind, shape, format, layout, offset, bytes"
FORMATS = "one of BF16, FP32, I32, Q4G64_F16S, Q5G64_F16S, Q6G64_F16S, W8G32_F16S, NVFP4, FP8_E4M3FN_ROW_BF16S"
LAYOUTS = "one of contiguous-le-v1, row-split-k128-v1, blockscale-k16-m128x4-v1, row-scale-v1"
SIZE_2 = "528, the size of Q5G64_F16S [2, 130]"
UNSIGNED = "an integer from 0 to 18446744073709551615"
POSITIVE = "an integer from 1 to 18446744073709551615"


@dataclass(frozen=True)
class Fault:
    """`data` is a whole file; reading it must fail with the error of these three parts."""

    name: str
    data: bytes
    where: str
    expected: str
    found: str

    @property
    def message(self) -> str:
        return f"{self.where}: expected {self.expected}, found {self.found}"


def text(directory: str | bytes, *, framing: int = 2) -> bytes:
    """A file of this framing with this directory text and the sample's payload."""
    return file_bytes(directory, magic=b"NINFER\0" + bytes([framing]))


def replaced(old: str, new: str) -> bytes:
    """The sample with one piece of its directory text replaced."""
    assert TEXT_2.count(old) == 1
    return text(TEXT_2.replace(old, new))


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    """The sample with its directory changed."""
    directory = document()
    change(directory)
    return text(json.dumps(directory))


def member(index: int, name: str, value: object, **others: object) -> bytes:
    """The sample with members of one object set."""
    return changed(lambda d: d["objects"][index].update({name: value, **others}))


def without(index: int, name: str) -> bytes:
    """The sample with one member of one object left out."""
    return changed(lambda d: d["objects"][index].pop(name))


def resource_last(*, offset: int) -> bytes:
    """The sample with a resource of one byte appended."""
    last = {"name": "last", "kind": "resource", "encoding": "raw-bytes-v1", "offset": offset, "bytes": 1}
    return changed(lambda d: d["objects"].append(last))


FAULTS = (
    Fault("empty file", b"", "FILE", "a header of 16 bytes", "0 bytes in all"),
    Fault("cut prefix", file_bytes(TEXT_2)[:15], "FILE", "a header of 16 bytes", "15 bytes in all"),
    Fault(
        "other magic",
        b"GGUF" + file_bytes(TEXT_2)[4:],
        "FILE, magic",
        "NINFER: this is no .ninfer file",
        "47 47 55 46 45 52 00 02",
    ),
    Fault(
        "no zero after NINFER",
        file_bytes(TEXT_2, magic=b"NINFER\x01\x02"),
        "FILE, magic",
        "a zero byte after NINFER",
        "0x01",
    ),
    Fault(
        "framing 0",
        file_bytes(TEXT_2, magic=b"NINFER\0\0"),
        "FILE, magic",
        "one of the framings 1, 2, 3",
        "framing 0, which is not known: update ninforge, or have the file made in one of 1, 2, 3",
    ),
    Fault(
        "framing 9",
        file_bytes(TEXT_2, magic=b"NINFER\0\x09"),
        "FILE, magic",
        "one of the framings 1, 2, 3",
        "framing 9, which is not known: update ninforge, or have the file made in one of 1, 2, 3",
    ),
    Fault(
        "continuation file",
        file_bytes(TEXT_2, magic=b"NINPRT\0\x03"),
        "FILE, magic",
        "an entry file",
        "NINPRT, a continuation file: give its entry, the file beside it that lists it",
    ),
    Fault("no JSON", file_bytes(""), "FILE, length of the JSON", "more than 0", "0"),
    Fault(
        "cut JSON", file_bytes(TEXT_2)[:100], "FILE, length of the JSON", "at most the 84 bytes after the header", "508"
    ),
    Fault("no UTF-8", text(b'{"identity":"\xff"}'), "FILE", "UTF-8", "0xff at byte 13 (invalid start byte)"),
    Fault(
        "surrogate in UTF-8",
        text(b'{"identity":"\xed\xa0\x80"}'),
        "FILE",
        "UTF-8",
        "0xed at byte 13 (invalid continuation byte)",
    ),
    Fault(
        "no JSON value", text(b"\0\0\0\0"), "FILE", "valid JSON", "a fault: Expecting value: line 1 column 1 (char 0)"
    ),
    Fault(
        "unfinished JSON",
        text(TEXT_2[:-1]),
        "FILE",
        "valid JSON",
        "a fault: Expecting ',' delimiter: line 1 column 507 (char 506)",
    ),
    Fault(
        "text after the JSON",
        text(TEXT_2 + "{}"),
        "FILE",
        "valid JSON",
        "a fault: Extra data: line 1 column 508 (char 507)",
    ),
    Fault(
        "raw line feed in a string",
        replaced('"bias"', '"bi\nas"'),
        "FILE",
        "valid JSON",
        "a fault: Invalid control character at: line 1 column 168 (char 167)",
    ),
    Fault("NaN", replaced('"offset":256', '"offset":NaN'), "FILE", "JSON, which has no such number", "NaN"),
    Fault(
        "Infinity", replaced('"offset":256', '"offset":Infinity'), "FILE", "JSON, which has no such number", "Infinity"
    ),
    Fault(
        "minus Infinity",
        replaced('"offset":256', '"offset":-Infinity'),
        "FILE",
        "JSON, which has no such number",
        "-Infinity",
    ),
    Fault("deep nesting", text("[" * 100_000), "FILE", "JSON a few levels deep", "too many levels of nesting"),
    Fault(
        "too many values",
        text("[" + "0," * 2**21 + "0]"),
        "FILE",
        "at most 2097152 values in the JSON",
        "up to 2097154",
    ),
    Fault(
        "root key twice",
        text(TEXT_1[:-1] + ',"model_id":"tiny"}', framing=1),
        "FILE, object with members 'model_id', 'objects'",
        "every key once",
        "'model_id' 2 times",
    ),
    Fault(
        "identity key twice",
        replaced('"weights_id"', '"model_id"'),
        "FILE, object with members 'model_id'",
        "every key once",
        "'model_id' 2 times",
    ),
    Fault(
        "object key twice",
        replaced('"offset":256', '"offset":256,"offset":256'),
        "FILE, object 'bias'",
        "every key once",
        "'offset' 2 times",
    ),
    Fault(
        "key twice in a nameless object",
        replaced('"name":"bias"', '"kind":"tensor"'),
        "FILE, object with members 'kind', 'shape', 'format', 'layout', 'offset', 'bytes'",
        "every key once",
        "'kind' 2 times",
    ),
    Fault("root an array", text(OBJECTS_TEXT), "FILE", "an object", "an array of 4"),
    Fault("no objects member", changed(lambda d: d.pop("objects")), "FILE", "a member 'objects'", "none"),
    Fault("no identity", changed(lambda d: d.pop("identity")), "FILE", "a member 'identity'", "none"),
    Fault(
        "root member too many",
        changed(lambda d: d.update(provenance={})),
        "FILE",
        "only the members identity, objects",
        "'provenance'",
    ),
    Fault("identity in framing 1", text(TEXT_2, framing=1), "FILE", "a member 'model_id'", "none"),
    Fault(
        "model_id in framing 2",
        changed(lambda d: d.update(model_id="tiny")),
        "FILE",
        "only the members identity, objects",
        "'model_id'",
    ),
    Fault(
        "model_id null in framing 1",
        text('{"model_id":null,"objects":' + OBJECTS_TEXT + "}", framing=1),
        "FILE, member 'model_id'",
        "a string",
        "null",
    ),
    Fault("identity a string", changed(lambda d: d.update(identity="tiny")), "FILE, identity", "an object", "'tiny'"),
    Fault(
        "no weights_id",
        changed(lambda d: d["identity"].pop("weights_id")),
        "FILE, identity",
        "a member 'weights_id'",
        "none",
    ),
    Fault(
        "identity member too many",
        changed(lambda d: d["identity"].update(revision=1)),
        "FILE, identity",
        "only the members model_id, weights_id",
        "'revision'",
    ),
    Fault(
        "model_id empty",
        changed(lambda d: d["identity"].update(model_id="")),
        "FILE, identity, member 'model_id'",
        "a non-empty string",
        "an empty one",
    ),
    Fault(
        "model_id a number",
        changed(lambda d: d["identity"].update(model_id=27)),
        "FILE, identity, member 'model_id'",
        "a string",
        "27",
    ),
    Fault(
        "weights_id null",
        changed(lambda d: d["identity"].update(weights_id=None)),
        "FILE, identity, member 'weights_id'",
        "a string",
        "null",
    ),
    Fault(
        "objects an object",
        changed(lambda d: d.update(objects={})),
        "FILE, member 'objects'",
        "an array",
        "an object of 0 members",
    ),
    Fault(
        "objects empty",
        changed(lambda d: d.update(objects=[])),
        "FILE, member 'objects'",
        "at least one object",
        "an empty array",
    ),
    Fault("an object null", changed(lambda d: d["objects"].append(None)), "FILE, objects[4]", "an object", "null"),
    Fault(
        "an object an array",
        changed(lambda d: d["objects"].append([1, 2])),
        "FILE, objects[4]",
        "an object",
        "an array of 2",
    ),
    Fault("object empty", changed(lambda d: d["objects"].append({})), "FILE, objects[4]", "a member 'kind'", "none"),
    Fault("no kind", without(1, "kind"), OBJECT_1, "a member 'kind'", "none"),
    Fault(
        "unknown kind", member(1, "kind", "Tensor"), f"{OBJECT_1}, member 'kind'", "'tensor' or 'resource'", "'Tensor'"
    ),
    Fault("kind null", member(1, "kind", None), f"{OBJECT_1}, member 'kind'", "'tensor' or 'resource'", "null"),
    Fault("no name in a tensor", without(1, "name"), "FILE, objects[1]", "a member 'name'", "none"),
    Fault("no shape in a tensor", without(1, "shape"), OBJECT_1, "a member 'shape'", "none"),
    Fault("no format in a tensor", without(1, "format"), OBJECT_1, "a member 'format'", "none"),
    Fault("no layout in a tensor", without(1, "layout"), OBJECT_1, "a member 'layout'", "none"),
    Fault("no offset in a tensor", without(1, "offset"), OBJECT_1, "a member 'offset'", "none"),
    Fault("no bytes in a tensor", without(1, "bytes"), OBJECT_1, "a member 'bytes'", "none"),
    Fault("no name in a resource", without(0, "name"), "FILE, objects[0]", "a member 'name'", "none"),
    Fault("no encoding in a resource", without(0, "encoding"), OBJECT_0, "a member 'encoding'", "none"),
    Fault("no offset in a resource", without(0, "offset"), OBJECT_0, "a member 'offset'", "none"),
    Fault("no bytes in a resource", without(0, "bytes"), OBJECT_0, "a member 'bytes'", "none"),
    Fault("tensor member too many", member(1, "sha256", "00"), OBJECT_1, TENSOR_MEMBERS, "'sha256'"),
    Fault("encoding in a tensor", member(1, "encoding", "raw-bytes-v1"), OBJECT_1, TENSOR_MEMBERS, "'encoding'"),
    Fault("shape in a resource", member(0, "shape", [5]), OBJECT_0, RESOURCE_MEMBERS, "'shape'"),
    Fault("key with a lone surrogate", member(1, "\ud800", 1), OBJECT_1, TENSOR_MEMBERS, "'\\ud800'"),
    Fault(
        "name empty", member(1, "name", ""), "FILE, objects[1] '', member 'name'", "a non-empty string", "an empty one"
    ),
    Fault("name a number", member(1, "name", 1), "FILE, objects[1], member 'name'", "a string", "1"),
    Fault("name a boolean", member(1, "name", True), "FILE, objects[1], member 'name'", "a string", "true"),
    Fault(
        "name with a lone surrogate",
        member(1, "name", "\udc00"),
        "FILE, objects[1] '\\udc00', member 'name'",
        "no lone surrogate in a string",
        "'\\udc00'",
    ),
    Fault(
        "name used before",
        member(3, "name", "bias"),
        "FILE, objects[3] 'bias', member 'name'",
        "a unique name",
        "that of objects[1]",
    ),
    Fault("shape null", member(1, "shape", None), f"{OBJECT_1}, member 'shape'", "an array of integers", "null"),
    Fault("shape a number", member(1, "shape", 3), f"{OBJECT_1}, member 'shape'", "an array of integers", "3"),
    Fault("rank 17", member(1, "shape", [1] * 17), f"{OBJECT_1}, member 'shape'", "at most 16 extents", "17"),
    Fault("extent 0", member(1, "shape", [3, 0]), f"{OBJECT_1}, member 'shape', extent 1", POSITIVE, "0"),
    Fault("extent negative", member(1, "shape", [-3]), f"{OBJECT_1}, member 'shape', extent 0", POSITIVE, "-3"),
    Fault("extent a boolean", member(1, "shape", [3, True]), f"{OBJECT_1}, member 'shape', extent 1", POSITIVE, "true"),
    Fault("extent a float", member(1, "shape", [3.0]), f"{OBJECT_1}, member 'shape', extent 0", POSITIVE, "3.0"),
    Fault("extent a string", member(1, "shape", ["3"]), f"{OBJECT_1}, member 'shape', extent 0", POSITIVE, "'3'"),
    Fault("extent null", member(1, "shape", [None]), f"{OBJECT_1}, member 'shape', extent 0", POSITIVE, "null"),
    Fault(
        "extent an array", member(1, "shape", [[3]]), f"{OBJECT_1}, member 'shape', extent 0", POSITIVE, "an array of 1"
    ),
    Fault(
        "extent past 64 bits",
        member(1, "shape", [2**64]),
        f"{OBJECT_1}, member 'shape', extent 0",
        POSITIVE,
        "18446744073709551616",
    ),
    Fault(
        "extent of 5000 digits",
        replaced('"shape":[3]', '"shape":[' + "9" * 5000 + "]"),
        f"{OBJECT_1}, member 'shape', extent 0",
        POSITIVE,
        "9" * 40 + "…",
    ),
    Fault(
        "sizes past 64 bits",
        member(1, "shape", [2**63, 2**63]),
        f"{OBJECT_1}, member 'shape'",
        "at most 18446744073709551615 bytes",
        "170141183460469231731687303715884105728 for shape [9223372036854775808, 9223372036854775808]",
    ),
    Fault(
        "rank 1 in rows",
        member(2, "shape", [260]),
        f"{OBJECT_2}, member 'shape'",
        "rank 2 for Q5G64_F16S",
        "shape [260]",
    ),
    Fault("rank 0 in rows", member(2, "shape", []), f"{OBJECT_2}, member 'shape'", "rank 2 for Q5G64_F16S", "shape []"),
    Fault(
        "rank 3 in rows",
        member(2, "shape", [2, 130, 1]),
        f"{OBJECT_2}, member 'shape'",
        "rank 2 for Q5G64_F16S",
        "shape [2, 130, 1]",
    ),
    Fault(
        "N no multiple in NVFP4",
        member(2, "format", "NVFP4", layout="blockscale-k16-m128x4-v1"),
        f"{OBJECT_2}, member 'shape'",
        "NVFP4 [N,K] with N a multiple of 128 and K of 64",
        "shape [2, 130]",
    ),
    Fault("unknown format", member(1, "format", "F16"), f"{OBJECT_1}, member 'format'", FORMATS, "'F16'"),
    Fault("format of framing 3", member(1, "format", "bf16"), f"{OBJECT_1}, member 'format'", FORMATS, "'bf16'"),
    Fault("format null", member(1, "format", None), f"{OBJECT_1}, member 'format'", FORMATS, "null"),
    Fault("format an array", member(1, "format", ["BF16"]), f"{OBJECT_1}, member 'format'", FORMATS, "an array of 1"),
    Fault(
        "format long",
        member(1, "format", "x" * 1000),
        f"{OBJECT_1}, member 'format'",
        FORMATS,
        f"'{'x' * 47}...{'x' * 48}'",
    ),
    Fault(
        "unknown layout",
        member(1, "layout", "contiguous-le-v2"),
        f"{OBJECT_1}, member 'layout'",
        LAYOUTS,
        "'contiguous-le-v2'",
    ),
    Fault(
        "layout of another format",
        member(1, "layout", "row-split-k128-v1"),
        f"{OBJECT_1}, member 'layout'",
        "layout contiguous-le-v1 for format BF16",
        "row-split-k128-v1",
    ),
    Fault(
        "unknown encoding",
        member(0, "encoding", "zstd"),
        f"{OBJECT_0}, member 'encoding'",
        "one of raw-bytes-v1",
        "'zstd'",
    ),
    Fault("encoding a number", member(0, "encoding", 1), f"{OBJECT_0}, member 'encoding'", "one of raw-bytes-v1", "1"),
    Fault("bytes too few", member(2, "bytes", 527), f"{OBJECT_2}, member 'bytes'", SIZE_2, "527"),
    Fault("bytes too many", member(2, "bytes", 529), f"{OBJECT_2}, member 'bytes'", SIZE_2, "529"),
    Fault("bytes 0 in a tensor", member(2, "bytes", 0), f"{OBJECT_2}, member 'bytes'", SIZE_2, "0"),
    Fault("resource empty", member(0, "bytes", 0), f"{OBJECT_0}, member 'bytes'", "a resource that is not empty", "0"),
    Fault("bytes a float", member(2, "bytes", 528.0), f"{OBJECT_2}, member 'bytes'", UNSIGNED, "528.0"),
    Fault("bytes a boolean", member(2, "bytes", True), f"{OBJECT_2}, member 'bytes'", UNSIGNED, "true"),
    Fault("bytes null", member(2, "bytes", None), f"{OBJECT_2}, member 'bytes'", UNSIGNED, "null"),
    Fault("bytes a string", member(2, "bytes", "528"), f"{OBJECT_2}, member 'bytes'", UNSIGNED, "'528'"),
    Fault(
        "bytes with an exponent",
        replaced('"bytes":528', '"bytes":528e0'),
        f"{OBJECT_2}, member 'bytes'",
        UNSIGNED,
        "528e0",
    ),
    Fault("bytes negative", member(0, "bytes", -5), f"{OBJECT_0}, member 'bytes'", UNSIGNED, "-5"),
    Fault("offset negative", member(1, "offset", -256), f"{OBJECT_1}, member 'offset'", UNSIGNED, "-256"),
    Fault("offset a float", member(1, "offset", 256.5), f"{OBJECT_1}, member 'offset'", UNSIGNED, "256.5"),
    Fault(
        "offset an object",
        member(1, "offset", {"at": 256}),
        f"{OBJECT_1}, member 'offset'",
        UNSIGNED,
        "an object of 1 members",
    ),
    Fault(
        "offset past 64 bits",
        member(1, "offset", 2**64),
        f"{OBJECT_1}, member 'offset'",
        UNSIGNED,
        "18446744073709551616",
    ),
    Fault("offset misaligned", member(1, "offset", 128), f"{OBJECT_1}, member 'offset'", "a multiple of 256", "128"),
    Fault(
        "offset before the end of the last",
        member(2, "offset", 256),
        f"{OBJECT_2}, member 'offset'",
        "at least 262, where 'bias' ends",
        "256",
    ),
    Fault(
        "resource over a tensor",
        resource_last(offset=1283),
        "FILE, objects[4] 'last', member 'offset'",
        "at least 1284, where 'scalar' ends",
        "1283",
    ),
    Fault(
        "end past 64 bits",
        resource_last(offset=2**64 - 1),
        "FILE, objects[4] 'last'",
        "its end in the file at most 18446744073709551615",
        "18446744073709555712",
    ),
    Fault(
        "end past 64 bits only in the file",
        resource_last(offset=2**64 - 4096),
        "FILE, objects[4] 'last'",
        "its end in the file at most 18446744073709551615",
        "18446744073709551617",
    ),
    Fault(
        "object past the end of the file",
        resource_last(offset=2**40),
        "FILE, objects[4] 'last'",
        "a file that holds it up to byte 1099511631873",
        "5380 bytes",
    ),
    Fault(
        "file cut in the last object",
        file_bytes(TEXT_2)[:-1],
        "FILE, objects[3] 'scalar'",
        "a file that holds it up to byte 5380",
        "5379 bytes",
    ),
    Fault(
        "file cut in the first object",
        file_bytes(TEXT_2)[:4096],
        OBJECT_0,
        "a file that holds it up to byte 4101",
        "4096 bytes",
    ),
    Fault(
        "file cut in the gap before the payload",
        file_bytes(TEXT_2)[:4000],
        OBJECT_0,
        "a file that holds it up to byte 4101",
        "4000 bytes",
    ),
)
