"""Artifacts with something changed at random, reproducibly: bytes, lengths, pieces of JSON text, JSON values."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

TOKENS = (
    *(b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b" ", b"\0", b"\n", b"\xff", b"\xef\xbb\xbf", b"\\ud800"),
    *(b"null", b"true", b"NaN", b"Infinity", b"-", b"-0", b"1.0", b"1e9", b"01", b"9" * 4400, b"[" * 2000),
    *(b'"offset":0,', b'{"":0},', b"[[[[", b"}}}}"),
)

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 255, 256, 4096, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64),
    *(10**30, 0.0, 1.5, -0.0, 1e300, float("nan"), float("inf"), "", "a", "x" * 5000, "\0", "\ud800", "é"),
    *("tensor", "resource", "NVFP4", "bf16"),
    *([], {}, [[]], [1], [0], [1] * 17, [2**63, 2**63], [128, 64], [None], [True, 1]),
)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What the files of a framing are changed with: whole files to begin with, text to put into their JSON, values and
    names of members to put into what it says. `header` is how many bytes stand before the JSON; most changes fall into
    the first `front` bytes."""

    header: int
    front: int
    bases: tuple[bytes, ...]
    tokens: tuple[bytes, ...]
    values: tuple[Any, ...]
    names: tuple[str, ...]


def mutated(vocabulary: Vocabulary, count: int, seed: int) -> Iterator[bytes]:
    """`count` changed artifacts; the same for the same seed."""
    mutations = _Mutations(vocabulary, random.Random(seed))  # noqa: S311 (reproducible, no secret)
    for _ in range(count):
        yield mutations.one()


@dataclass(frozen=True, slots=True)
class _Mutations:
    vocabulary: Vocabulary
    generator: random.Random

    def one(self) -> bytes:
        kinds = (
            *(self._flip_bits, self._truncate, self._insert, self._splice, self._change_length, self._change_text),
            *(self._change_values, self._change_values),
        )
        data = self.generator.choice(self.vocabulary.bases)
        for _ in range(self.generator.choice((1, 1, 1, 2, 3))):
            data = self.generator.choice(kinds)(data)
        return data

    def _position(self, data: bytes) -> int:
        """Anywhere, but mostly in the front."""
        end = min(len(data), self.vocabulary.front) if self.generator.random() < 0.85 else len(data)
        return self.generator.randint(0, end)

    def _flip_bits(self, data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(self.generator.choice((1, 1, 2, 8))):
            if changed:
                changed[self._position(data) % len(changed)] ^= 1 << self.generator.randrange(8)
        return bytes(changed)

    def _truncate(self, data: bytes) -> bytes:
        return data[: self._position(data)]

    def _insert(self, data: bytes) -> bytes:
        at = self._position(data)
        random_bytes = self.generator.randbytes(self.generator.randint(1, 40))
        return data[:at] + self.generator.choice((*self.vocabulary.tokens, random_bytes)) + data[at:]

    def _splice(self, data: bytes) -> bytes:
        other = self.generator.choice((data, *self.vocabulary.bases))
        start, stop = sorted((self._position(other), self._position(other)))
        at, to = sorted((self._position(data), self._position(data)))
        return data[:at] + other[start:stop] + data[to:]

    def _change_length(self, data: bytes) -> bytes:
        length = int.from_bytes(data[8:16], "little")
        rest = len(data) - self.vocabulary.header
        lengths = (0, 1, length - 1, length + 1, rest, rest + 1, 2**26, 2**26 + 1, 2**63, 2**64 - 1)
        return data[:8] + (self.generator.choice(lengths) % 2**64).to_bytes(8, "little") + data[16:]

    def _change_text(self, data: bytes) -> bytes:
        """Replaces a piece of the JSON text and keeps the prefix true to it."""
        text = self._text(data)
        at = self.generator.randint(0, len(text))
        to = min(len(text), at + self.generator.choice((0, 1, 1, 2, 5, 30)))
        return self._with_text(data, text[:at] + self.generator.choice(self.vocabulary.tokens) + text[to:])

    def _change_values(self, data: bytes) -> bytes:
        """Replaces, removes, adds or copies values and members of the parsed JSON, and keeps the prefix true to it."""
        try:
            value = json.loads(self._text(data))
        except (ValueError, RecursionError):
            return self._flip_bits(data)
        for _ in range(self.generator.choice((1, 1, 2))):
            holders = list(_holders(value))
            if holders:
                self._change_one(self.generator.choice(holders))
        text = json.dumps(value, ensure_ascii=self.generator.random() < 0.5).encode(errors="surrogatepass")
        return self._with_text(data, text)

    def _change_one(self, holder: Any) -> None:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        new = deepcopy(self.generator.choice(self.vocabulary.values))
        action = self.generator.randrange(4)
        if action == 0 and keys:
            holder.pop(self.generator.choice(keys))
        elif action == 1 and isinstance(holder, dict):
            holder[self.generator.choice(self.vocabulary.names)] = new
        elif action == 1:
            holder.insert(self.generator.randint(0, len(holder)), self.generator.choice((new, *deepcopy(holder))))
        elif keys:
            key = self.generator.choice(keys)
            number = type(holder[key]) is int and self.generator.random() < 0.5
            holder[key] = holder[key] + self.generator.choice((-256, -1, 1, 256)) if number else new

    def _text(self, data: bytes) -> bytes:
        """The JSON, as far as it is there."""
        start = self.vocabulary.header
        return data[start : start + min(int.from_bytes(data[8:16], "little"), len(data))]

    def _with_text(self, data: bytes, text: bytes) -> bytes:
        """The file with another JSON, its length told, and what stood in the payload."""
        start = self.vocabulary.header
        end = start + len(self._text(data))
        front = data[:8] + len(text).to_bytes(8, "little") + data[16:start] + text
        return front + bytes(-len(front) % 4096) + data[end + -end % 4096 :]


def _holders(value: Any) -> Iterator[Any]:
    """Every dict and list in a value, itself included."""
    if isinstance(value, dict | list):
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from _holders(item)
