"""Places objects in a payload: each at the first aligned offset after the one before it (container.md, Directory)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.errors import ArtifactError
from schemas.registry import FORMATS, Format, ResourceEncoding
from schemas.storage_layouts import ALIGNMENT, U64_MAX, payload, up
from workers.engine.container.directory import ResourceObject, TensorObject

PlacedObject = TensorObject | ResourceObject


@dataclass(frozen=True, slots=True)
class UnplacedTensor:
    """A tensor to store; its layout is the one that stores its format."""

    name: str
    shape: tuple[int, ...]
    format: Format


@dataclass(frozen=True, slots=True)
class UnplacedResource:
    """A resource of `bytes` bytes to store."""

    name: str
    bytes: int


UnplacedObject = UnplacedTensor | UnplacedResource


def place(objects: Sequence[UnplacedObject]) -> tuple[PlacedObject, ...]:
    """The objects at their offsets, in the order given.

    Raises ArtifactError for what no directory may hold (an empty or repeated name, an empty resource, no objects, sizes
    past unsigned 64 bits), RegistryError for a shape that its format does not store.
    """
    if not objects:
        raise ArtifactError("arrangement", expected="at least one object", found="none")
    _check_names(objects)
    placed: list[PlacedObject] = []
    end = 0
    for unplaced in objects:
        stored = _place_one(unplaced, end)
        end = stored.end
        placed.append(stored)
    if end > U64_MAX:
        raise ArtifactError("arrangement", expected=f"a payload of at most {U64_MAX} bytes", found=f"{end}")
    return tuple(placed)


def check_text(text: str, *, where: str) -> None:
    """Raises ArtifactError for text that no member of a directory may be."""
    if not text:
        raise ArtifactError(where, expected="a non-empty string", found="an empty one")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ArtifactError(where, expected="text that UTF-8 can hold", found=repr(text)) from None


def _check_names(objects: Sequence[UnplacedObject]) -> None:
    seen: set[str] = set()
    for index, unplaced in enumerate(objects):
        check_text(unplaced.name, where=f"objects[{index}], name")
        if unplaced.name in seen:
            raise ArtifactError(f"objects[{index}], name", expected="a name not used before", found=repr(unplaced.name))
        seen.add(unplaced.name)


def _place_one(unplaced: UnplacedObject, start: int) -> PlacedObject:
    where = f"object {unplaced.name!r}"
    match unplaced:
        case UnplacedTensor(name, shape, format):
            layout = FORMATS[format].layout
            size = payload(format, shape, where=where).bytes
            return TensorObject(name, shape, format, layout, up(start, ALIGNMENT[layout]), size)
        case UnplacedResource(name, size):
            if size <= 0:
                raise ArtifactError(where, expected="a resource of at least one byte", found=f"{size} bytes")
            encoding = ResourceEncoding.RAW_BYTES
            return ResourceObject(name, encoding, up(start, ALIGNMENT[encoding]), size)
