"""What a directory says: identity and objects, as plain data (container.md, Directory)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from schemas.registry import Format, Layout, ResourceEncoding


class Framing(IntEnum):
    """The framing number, last byte of the magic."""

    ONE = 1
    TWO = 2


@dataclass(frozen=True, slots=True)
class Identity:
    """Selects one complete inventory. `weights_id` is None where a file of framing 1, which has no place for it, was
    read."""

    model_id: str
    weights_id: str | None


@dataclass(frozen=True, slots=True)
class TensorObject:
    """A tensor's payload: `bytes` bytes at `offset` from the start of the payload."""

    name: str
    shape: tuple[int, ...]
    format: Format
    layout: Layout
    offset: int
    bytes: int

    @property
    def end(self) -> int:
        return self.offset + self.bytes


@dataclass(frozen=True, slots=True)
class ResourceObject:
    """A resource: `bytes` bytes at `offset` from the start of the payload."""

    name: str
    encoding: ResourceEncoding
    offset: int
    bytes: int

    @property
    def end(self) -> int:
        return self.offset + self.bytes


StoredObject = TensorObject | ResourceObject
