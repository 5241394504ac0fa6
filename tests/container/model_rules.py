"""The rules of container-v3.md, sections 2, 4, 5 and 13, said once more: whether an entry file keeps all of them.

Nothing of the program is used. Known formats are held to their sizes; what the contract leaves open may be anything
that JSON, UTF-8 and binary64 can hold.
"""

from __future__ import annotations

import json
import math
from typing import Any

U64 = 2**64 - 1
CONTIGUOUS = {"bf16": 2, "fp32": 4, "int32": 4}
ROW_SPLIT = {"q4_g64_fp16": (64, 0), "q5_g64_fp16": (64, 8), "q6_g64_fp16": (64, 16), "q8_g32_fp16": (32, 0)}
LAYOUTS = {"contiguous_le_v1", "row_split_k128_v1", "block_scale_k16_m128x4_v1", "row_scale_v1"}
FORMATS = {*CONTIGUOUS, *ROW_SPLIT, "nvfp4", "fp8_e4m3fn_row_bf16"}


class BrokenRuleError(Exception):
    """A rule is broken."""


def keeps_all_rules(data: bytes, name: str) -> bool:
    """Whether `data` is an entry of framing 3 that may be opened under this name."""
    try:
        _entry(data, name)
    except (BrokenRuleError, ValueError, RecursionError):
        return False
    return True


def _hold(rule: object) -> None:
    if not rule:
        raise BrokenRuleError


def _entry(data: bytes, name: str) -> None:
    _hold(data[:8] == b"NINFER\0\x03" and len(data) >= 32)
    length = int.from_bytes(data[8:16], "little")
    _hold(0 < length <= len(data) - 32)
    text = data[32 : 32 + length].decode()
    root = json.loads(text, object_pairs_hook=_members, parse_constant=_refused, parse_float=_finite)
    json.dumps(root, ensure_ascii=False).encode()
    _members_are(root, {"components", "objects", "bindings", "uses", "files"}, {"metadata", "provenance"})
    sizes = _files(root["files"], name)
    objects = _objects(root["objects"], sum(sizes))
    _components(root["components"], objects)
    _hold(isinstance(root["bindings"], dict))
    for parameter, binding in root["bindings"].items():
        _id(parameter)
        _binding(binding, objects)
    _uses(root["uses"], root["bindings"], objects)
    for free in ("metadata", "provenance"):
        _hold(isinstance(root.get(free, {}), dict))
        _binary64(root.get(free, {}))
    if "name" in root.get("metadata", {}):
        _id(root["metadata"]["name"])
    _hold(len(data) == (32 + length + 4095) // 4096 * 4096 + sizes[0])


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _hold(len({name for name, _ in pairs}) == len(pairs))
    return dict(pairs)


def _refused(_: str) -> None:
    raise BrokenRuleError


def _finite(text: str) -> float:
    _hold(math.isfinite(float(text)))
    return float(text)


def _binary64(value: Any) -> None:
    """No integer in it is past binary64: float() of it raises OverflowError."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            _binary64(one)
    elif isinstance(value, int):
        _hold(abs(value) < 2**1024 - 2**970)


def _members_are(record: Any, needed: set[str], optional: set[str] | None = None) -> None:
    _hold(isinstance(record, dict))
    _hold(needed <= record.keys() <= needed | (optional or set()))


def _id(value: Any) -> None:
    _hold(isinstance(value, str) and value and "\0" not in value)
    value.encode()


def _integer(value: Any, least: int) -> None:
    _hold(type(value) is int and least <= value <= U64)


def _files(files: Any, name: str) -> list[int]:
    _hold(isinstance(files, list) and files)
    for file in files:
        _members_are(file, {"path", "payload_bytes"})
        _integer(file["payload_bytes"], 1)
    _hold(files[0]["path"] is None)
    paths = [file["path"] for file in files[1:]]
    for path in paths:
        _id(path)
        _hold(not set(path) & {"/", "\\"} and path not in {".", "..", name})
    _hold(len(set(paths)) == len(paths))
    sizes = [file["payload_bytes"] for file in files]
    _hold(sum(sizes) <= U64)
    return sizes


def _objects(objects: Any, payload_bytes: int) -> dict[str, int | None]:
    """The count of elements of each tensor by id, None for a resource."""
    _hold(isinstance(objects, list) and objects)
    found: dict[str, int | None] = {}
    end = 0
    for one in objects:
        _hold(isinstance(one, dict) and one.get("kind") in ("tensor", "resource"))
        what = {"shape", "format", "layout"} if one["kind"] == "tensor" else {"encoding"}
        _members_are(one, {"id", "kind", "offset", "bytes", *what})
        _id(one["id"])
        _hold(one["id"] not in found)
        _integer(one["offset"], end)
        _integer(one["bytes"], 1)
        end = one["offset"] + one["bytes"]
        if one["kind"] == "tensor":
            found[one["id"]] = _elements(one)
        else:
            _id(one["encoding"])
            found[one["id"]] = None
    _hold(end <= payload_bytes)
    return found


def _elements(tensor: dict[str, Any]) -> int:
    shape, format, layout = tensor["shape"], tensor["format"], tensor["layout"]
    _hold(isinstance(shape, list) and len(shape) <= 16)
    for extent in shape:
        _integer(extent, 1)
    _hold(math.prod(shape) <= U64)
    _id(format)
    _id(layout)
    _hold(tensor["offset"] % 256 == 0)
    if format in FORMATS and layout in LAYOUTS:
        _hold(tensor["bytes"] == _size(shape, format, layout))
    return math.prod(shape)


def _size(shape: list[int], format: str, layout: str) -> int:
    if format in CONTIGUOUS:
        _hold(layout == "contiguous_le_v1")
        return math.prod(shape) * CONTIGUOUS[format]
    _hold(len(shape) == 2)
    rows, columns = shape
    if format in ROW_SPLIT:
        _hold(layout == "row_split_k128_v1")
        group, high = ROW_SPLIT[format]
        groups = rows * ((columns + 127) // 128 * 128 // group)
        return _up(32 * groups) + _up(high * groups) + 2 * groups
    if format == "nvfp4":
        _hold(layout == "block_scale_k16_m128x4_v1" and rows % 128 == 0 and columns % 64 == 0)
        return _up(rows * columns // 2) + rows * columns // 16 + 4
    _hold(layout == "row_scale_v1")
    return _up(rows * columns) + 2 * rows


def _up(size: int) -> int:
    return (size + 255) // 256 * 256


def _components(components: Any, objects: dict[str, int | None]) -> None:
    _hold(isinstance(components, dict) and "text" in components)
    for name, component in components.items():
        _id(name)
        _members_are(component, {"config"}, {"target", "resources", "proposal"})
        _hold(isinstance(component["config"], dict))
        _binary64(component["config"])
        if "target" in component:
            _id(component["target"])
            _hold(component["target"] in components)
        _hold(isinstance(component.get("resources", {}), dict))
        for role, resource in component.get("resources", {}).items():
            _id(role)
            _id(resource)
            _hold(resource in objects and objects[resource] is None)
        if "proposal" in component:
            _hold(name == "text")
            _proposal(component["proposal"])


def _proposal(proposal: Any) -> None:
    _hold(isinstance(proposal, dict))
    if proposal.get("domain") != "indexed":
        _hold(proposal == {"domain": "full"})
    else:
        _members_are(proposal, {"domain", "rows"})
        _integer(proposal["rows"], 1)


def _binding(binding: Any, objects: dict[str, int | None]) -> None:
    _hold(isinstance(binding, dict) and binding.keys() in ({"object"}, {"parts"}))
    if "object" in binding:
        _tensor(binding["object"], objects)
        return
    _hold(isinstance(binding["parts"], list) and binding["parts"])
    total = 0
    for part in binding["parts"]:
        _members_are(part, {"object", "range"})
        elements = _tensor(part["object"], objects)
        _hold(isinstance(part["range"], list) and len(part["range"]) == 2)
        start, stop = part["range"]
        _integer(start, 0)
        _integer(stop, start + 1)
        _hold(stop <= elements)
        total += stop - start
    _hold(total <= U64)


def _tensor(name: Any, objects: dict[str, int | None]) -> int:
    _id(name)
    elements = objects.get(name)
    if elements is None:
        raise BrokenRuleError
    return elements


def _uses(uses: Any, bindings: dict[str, Any], objects: dict[str, int | None]) -> None:
    _hold(isinstance(uses, list))
    pairs = set()
    for use in uses:
        _members_are(use, {"parameter", "input"}, {"activation_policy", "auxiliaries"})
        _id(use["parameter"])
        _id(use["input"])
        _hold(use["parameter"] in bindings)
        pairs.add((use["parameter"], use["input"]))
        policy = use.get("activation_policy", "A16Only")
        _hold(isinstance(policy, str) and policy in {"A16Only", "AllowA8", "AllowA4"})
        _hold(isinstance(use.get("auxiliaries", {}), dict))
        for role, binding in use.get("auxiliaries", {}).items():
            _id(role)
            _binding(binding, objects)
    _hold(len(pairs) == len(uses))
