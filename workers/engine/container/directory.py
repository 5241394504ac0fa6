"""What a directory says: identity and objects, as plain data (container.md, Directory; container-v3.md, 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Literal

from schemas.registry import Format, Layout, ResourceEncoding


class Framing(IntEnum):
    """The framing number, last byte of the magic."""

    ONE = 1
    TWO = 2
    THREE = 3


SingleFileFraming = Literal[Framing.ONE, Framing.TWO]
"""The framings that are one file and have an identity in it."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Selects one complete inventory, in framings 1 and 2. `weights_id` is None where a file of framing 1, which has no
    place for it, was read."""

    model_id: str
    weights_id: str | None


@dataclass(frozen=True, slots=True)
class TensorObject:
    """A tensor's payload: `bytes` bytes at `offset` from the start of the payload. `name` is the id in framing 3."""

    name: str
    shape: tuple[int, ...]
    format: Format
    layout: Layout
    offset: int
    bytes: int

    is_tensor: ClassVar[bool] = True

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

    is_tensor: ClassVar[bool] = False
    shape: ClassVar[None] = None

    @property
    def end(self) -> int:
        return self.offset + self.bytes


@dataclass(frozen=True, slots=True)
class ForeignObject:
    """An object of framing 3 whose format, layout or encoding is not in the registry: its place is known, its words are
    not. `shape`, `format` and `layout` as the directory spells them; a resource has no format, and its encoding for a
    layout."""

    name: str
    shape: tuple[int, ...] | None
    format: str | None
    layout: str
    offset: int
    bytes: int

    @property
    def is_tensor(self) -> bool:
        return self.shape is not None

    @property
    def end(self) -> int:
        return self.offset + self.bytes


StoredObject = TensorObject | ResourceObject | ForeignObject
