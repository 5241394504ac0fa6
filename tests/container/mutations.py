"""Artifacts with something changed at random, reproducibly: bytes, lengths, pieces of JSON text, JSON values."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from tests.container.samples import OBJECTS_TEXT, PAYLOAD, TEXT_1, TEXT_2, file_bytes

_NVFP4_TEXT = (
    '{"identity":{"model_id":"m","weights_id":"w"},"objects":['
    '{"name":"a","kind":"tensor","shape":[128,64],"format":"NVFP4","layout":"blockscale-k16-m128x4-v1",'
    '"offset":0,"bytes":4612},'
    '{"name":"b","kind":"tensor","shape":[3,5],"format":"FP8_E4M3FN_ROW_BF16S","layout":"row-scale-v1",'
    '"offset":4864,"bytes":262},'
    '{"name":"c","kind":"resource","encoding":"raw-bytes-v1","offset":5126,"bytes":1}]}'
)

BASES = (
    file_bytes(TEXT_1, magic=b"NINFER\0\x01"),
    file_bytes(TEXT_2),
    file_bytes(_NVFP4_TEXT, bytes(5127)),
    file_bytes('{"model_id":"m","objects":' + OBJECTS_TEXT + " }", magic=b"NINFER\0\x01"),
)

_TOKENS = (
    *(b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b" ", b"\0", b"\n", b"\xff", b"\xef\xbb\xbf", b"\\ud800"),
    *(b"null", b"true", b"NaN", b"Infinity", b"-", b"-0", b"1.0", b"1e9", b"01", b"9" * 4400, b"[" * 2000),
    *(b'"name":"a",', b'"offset":0,', b'{"":0},', b"[[[[", b"}}}}"),
)

_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 255, 256, 4096, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64),
    *(10**30, 0.0, 1.5, -0.0, 1e300, float("nan"), float("inf"), "", "a", "bias", "x" * 5000, "\0", "\ud800", "é"),
    *("tensor", "resource", "BF16", "NVFP4", "I32", "Q4G64_F16S", "row-split-k128-v1", "raw-bytes-v1", "bf16"),
    *([], {}, [[]], [1], [0], [1] * 17, [2**63, 2**63], [128, 64], {"name": "a"}, [None], [True, 1]),
)

_NAMES = (
    "name",
    "kind",
    "shape",
    "format",
    "layout",
    "encoding",
    "offset",
    "bytes",
    "model_id",
    "objects",
    "",
    "identity",
)


def mutated(count: int, seed: int) -> Iterator[bytes]:
    """`count` changed artifacts; the same for the same seed."""
    generator = random.Random(seed)  # noqa: S311 (reproducible, no secret)
    kinds = (_flip_bits, _truncate, _insert, _splice, _change_length, _change_text, _change_values, _change_values)
    for _ in range(count):
        data = generator.choice(BASES)
        for _ in range(generator.choice((1, 1, 1, 2, 3))):
            data = generator.choice(kinds)(generator, data)
        yield data


def _position(generator: random.Random, data: bytes) -> int:
    """Anywhere, but mostly in the front."""
    end = min(len(data), 700) if generator.random() < 0.85 else len(data)
    return generator.randint(0, end)


def _flip_bits(generator: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(generator.choice((1, 1, 2, 8))):
        if changed:
            changed[_position(generator, data) % len(changed)] ^= 1 << generator.randrange(8)
    return bytes(changed)


def _truncate(generator: random.Random, data: bytes) -> bytes:
    return data[: _position(generator, data)]


def _insert(generator: random.Random, data: bytes) -> bytes:
    at = _position(generator, data)
    return data[:at] + generator.choice((*_TOKENS, generator.randbytes(generator.randint(1, 40)))) + data[at:]


def _splice(generator: random.Random, data: bytes) -> bytes:
    other = generator.choice((data, *BASES))
    start, stop = sorted((_position(generator, other), _position(generator, other)))
    at, to = sorted((_position(generator, data), _position(generator, data)))
    return data[:at] + other[start:stop] + data[to:]


def _change_length(generator: random.Random, data: bytes) -> bytes:
    length = int.from_bytes(data[8:16], "little")
    lengths = (0, 1, length - 1, length + 1, len(data) - 16, len(data) - 15, 2**26, 2**26 + 1, 2**63, 2**64 - 1)
    return data[:8] + (generator.choice(lengths) % 2**64).to_bytes(8, "little") + data[16:]


def _change_text(generator: random.Random, data: bytes) -> bytes:
    """Replaces a piece of the JSON text and keeps the prefix true to it."""
    text = _text(data)
    at = generator.randint(0, len(text))
    to = min(len(text), at + generator.choice((0, 1, 1, 2, 5, 30)))
    return _with_text(data, text[:at] + generator.choice(_TOKENS) + text[to:])


def _change_values(generator: random.Random, data: bytes) -> bytes:
    """Replaces, removes, adds or copies values and members of the parsed JSON, and keeps the prefix true to it."""
    try:
        value = json.loads(_text(data))
    except (ValueError, RecursionError):
        return _flip_bits(generator, data)
    for _ in range(generator.choice((1, 1, 2))):
        holders = list(_holders(value))
        if holders:
            _change_one(generator, generator.choice(holders))
    text = json.dumps(value, ensure_ascii=generator.random() < 0.5).encode(errors="surrogatepass")
    return _with_text(data, text)


def _change_one(generator: random.Random, holder: Any) -> None:
    keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    new = deepcopy(generator.choice(_VALUES))
    action = generator.randrange(4)
    if action == 0 and keys:
        holder.pop(generator.choice(keys))
    elif action == 1 and isinstance(holder, dict):
        holder[generator.choice(_NAMES)] = new
    elif action == 1:
        holder.insert(generator.randint(0, len(holder)), generator.choice((new, *deepcopy(holder))))
    elif keys:
        key = generator.choice(keys)
        number = type(holder[key]) is int and generator.random() < 0.5
        holder[key] = holder[key] + generator.choice((-256, -1, 1, 256)) if number else new


def _holders(value: Any) -> Iterator[Any]:
    """Every dict and list in a value, itself included."""
    if isinstance(value, dict | list):
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from _holders(item)


def _text(data: bytes) -> bytes:
    return data[16 : 16 + min(int.from_bytes(data[8:16], "little"), len(data))]


def _with_text(data: bytes, text: bytes) -> bytes:
    front = data[:8] + len(text).to_bytes(8, "little") + text
    return front + bytes(-len(front) % 4096) + PAYLOAD
