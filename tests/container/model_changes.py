"""Changes that break the small sample of framing 3, and words that its refusals share."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.container.model_samples import TEXT, document, entry_bytes

OBJECT_0 = "FILE, objects[0] 'frontend/é.json'"
OBJECT_1 = "FILE, objects[1] 'matrix'"
OBJECT_2 = "FILE, objects[2] 'weight'"
RESOURCE_MEMBERS = "only the members id, kind, encoding, offset, bytes"
TENSOR_MEMBERS = "only the members id, kind, shape, format, layout, offset, bytes"
USE_MEMBERS = "only the members parameter, input, activation_policy, auxiliaries"
NO_NUL = "an id without the character U+0000"
NO_SURROGATE = "no lone surrogate in a string"
NOT_EMPTY = "a non-empty string"
BARE_NAME = "the bare name of a file beside the entry"

GOOD = entry_bytes(TEXT)


def replaced(old: str, new: str) -> bytes:
    """The sample with one piece of its directory text replaced."""
    assert TEXT.count(old) == 1
    return entry_bytes(TEXT.replace(old, new))


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    """The sample with its directory changed."""
    directory = document()
    change(directory)
    return entry_bytes(json.dumps(directory))


def without(name: str) -> bytes:
    """The sample without a member of the root."""
    return changed(lambda d: d.pop(name))


def root(name: str, value: object) -> bytes:
    """The sample with a member of the root set."""
    return changed(lambda d: d.update({name: value}))


def stored(index: int, **members: object) -> bytes:
    """The sample with members of one object set, or left out where they are set to ..."""
    return changed(lambda d: set_members(d["objects"][index], members))


def component(name: str, **members: object) -> bytes:
    """The sample with members of one component set, or left out where they are set to ..."""
    return changed(lambda d: set_members(d["components"][name], members))


def use(index: int, **members: object) -> bytes:
    """The sample with members of one use set, or left out where they are set to ..."""
    return changed(lambda d: set_members(d["uses"][index], members))


def config(value: str) -> bytes:
    """The sample with the text of another value in a config."""
    return replaced('"layers":2', f'"layers":{value}')


def bound(value: object) -> bytes:
    """The sample with another binding."""
    return changed(lambda d: d["bindings"].update({"text/b": value}))


def part(**members: object) -> bytes:
    """The sample with members of the first part of a binding set, or left out where they are set to ..."""
    return changed(lambda d: set_members(d["bindings"]["text/b"]["parts"][0], members))


def files(*items: object) -> bytes:
    """The sample with other items after the first of `files`."""
    return changed(lambda d: d["files"].extend(items))


def file(**members: object) -> bytes:
    """The sample with members of a second file set, or left out where they are set to ..."""
    second: dict[str, object] = {"path": "m.part-0001", "payload_bytes": 1}
    set_members(second, members)
    return files(second)


def set_members(record: dict[str, Any], members: dict[str, object]) -> None:
    for name, value in members.items():
        if value is ...:
            record.pop(name)
        else:
            record[name] = value


def elements_past_64_bits() -> bytes:
    """The sample with a binding that joins one element more than 64 bits count."""
    huge = {"object": "matrix", "range": [0, 2**64 - 1]}
    directory = document()
    directory["objects"][1].update(shape=[2**64 - 1], format="t2_g128_fp16")
    directory["bindings"]["text/b"]["parts"] = [huge, {"object": "scalar", "range": [0, 1]}]
    return entry_bytes(json.dumps(directory))


RESOURCE = {"id": "last", "kind": "resource", "encoding": "raw_bytes_v1"}


def last(**members: object) -> bytes:
    """The sample with a resource of one byte appended, or what the members given make of it."""
    return changed(lambda d: d["objects"].append({**RESOURCE, "offset": 1284, "bytes": 1, **members}))
