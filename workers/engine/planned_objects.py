"""What a plan says of single objects: where each lies, what it is made of (design.md, Plan)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from schemas.recipe.expanded import ExpandedObject, Fp8Row, Nvfp4
from schemas.registry import Format, Layout, ResourceEncoding
from workers.engine.recipe.describe import render
from workers.engine.recipe.inference import Typed
from workers.engine.sources.hashed_file import HashedFile
from workers.engine.sources.safetensors_header import TensorEntry

SourceTensor = tuple[str, str]
"""A source's name and a tensor's name in it."""


@dataclass(frozen=True, slots=True)
class SourceTensorIdentity:
    """A source tensor as provenance names it; `file` is relative to the checkpoint's folder."""

    source: str
    file: str
    tensor: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlannedResource:
    """A resource at its place: `offset` counts from the start of the payload."""

    index: int
    name: str
    offset: int
    bytes: int
    source: str
    content: HashedFile

    kind: ClassVar[Literal["resource"]] = "resource"
    shape: ClassVar[None] = None
    format: ClassVar[None] = None
    layout: ClassVar[ResourceEncoding] = ResourceEncoding.RAW_BYTES
    expression: ClassVar[None] = None
    sources: ClassVar[tuple[SourceTensorIdentity, ...]] = ()

    @property
    def source_bytes(self) -> int:
        """What making it reads."""
        return self.bytes


@dataclass(frozen=True, slots=True)
class PlannedTensor:
    """A tensor object at its place, with its value typed and the source tensors in it.

    `digests` are those of them that no object before this one uses: making this object digests them, so that each
    source tensor is digested once.
    """

    index: int
    spec: ExpandedObject
    offset: int
    bytes: int
    value: Typed
    equals: tuple[Typed, ...]
    tensors: Mapping[SourceTensor, TensorEntry]
    digests: tuple[SourceTensor, ...]

    kind: ClassVar[Literal["tensor"]] = "tensor"

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def shape(self) -> tuple[int, ...]:
        return self.spec.shape

    @property
    def format(self) -> Format:
        return self.spec.format

    @property
    def layout(self) -> Layout:
        return self.spec.layout

    @property
    def expression(self) -> str:
        """The value in one readable line."""
        return render(self.spec.value)

    @property
    def sources(self) -> tuple[SourceTensorIdentity, ...]:
        """The source tensors of the value and of what it must equal, in order of first use."""
        return tuple(
            SourceTensorIdentity(source, _shown_name(entry.file.path), tensor, entry.dtype_name, entry.shape)
            for (source, tensor), entry in self.tensors.items()
        )

    @property
    def source_bytes(self) -> int:
        """What making it reads, at most: its source tensors whole."""
        return sum(entry.bytes for entry in self.tensors.values())

    @property
    def is_copy(self) -> bool:
        """Whether the value is that of an already quantized source, with planes of its own."""
        return isinstance(self.value.op, Nvfp4 | Fp8Row)


PlannedObject = PlannedResource | PlannedTensor


def walk(value: Typed) -> Iterator[Typed]:
    """A value and all values below it, operands in order."""
    yield value
    for child in value.of:
        yield from walk(child)


def _shown_name(path: Path) -> str:
    """A file's name as text: bytes of it that are no UTF-8 come as escapes, since JSON cannot hold them."""
    return os.fsencode(path.name).decode("utf-8", "backslashreplace")
