"""Bindings as ranges of objects, and whether they are what a parameter asks for (container-v3.md, 4.4 and 13)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod

from schemas.registry import Format
from workers.engine.container.directory import TensorObject
from workers.engine.container.model_description import Binding, ElementRange, WholeTensor

Tensors = Mapping[str, TensorObject]


def ranges(bindings: Iterable[Binding], tensors: Tensors) -> tuple[ElementRange, ...]:
    """The elements of bindings to known objects, one binding after the other; ranges that go on in the same object are
    one."""
    joined: list[ElementRange] = []
    for binding in bindings:
        for one in _ranges(binding, tensors):
            last = joined[-1] if joined else None
            if last is not None and last.object == one.object and last.stop == one.start:
                joined[-1] = ElementRange(one.object, last.start, one.stop)
            else:
                joined.append(one)
    return tuple(joined)


def _ranges(binding: Binding, tensors: Tensors) -> tuple[ElementRange, ...]:
    if isinstance(binding, WholeTensor):
        return (ElementRange(binding.object, 0, prod(tensors[binding.object].shape)),)
    return binding.ranges


def binding_faults(binding: Binding, shape: tuple[int, ...], format: Format | None, tensors: Tensors) -> Iterator[str]:
    """In words, why a binding cannot be a parameter of this shape and, unless it is None, format."""
    if isinstance(binding, WholeTensor):
        objects: tuple[str, ...] = (binding.object,)
    else:
        objects = tuple(dict.fromkeys(one.object for one in binding.ranges))
    unknown = [name for name in objects if name not in tensors]
    for name in unknown:
        yield f"expected a tensor object of a known format, found {name!r}, which is none"
    if unknown:
        return
    if format is not None:
        for name in objects:
            if tensors[name].format is not format:
                yield f"expected {format}, found {tensors[name].format} in object {name!r}"
    if isinstance(binding, WholeTensor):
        found = tensors[binding.object].shape
        if found != shape:
            yield f"expected the shape {list(shape)}, found {list(found)} in object {binding.object!r}"
        return
    for one in binding.ranges:
        elements = prod(tensors[one.object].shape)
        if not 0 <= one.start < one.stop <= elements:
            yield f"expected a range in the {elements} elements of {one.object!r}, found [{one.start}, {one.stop})"
    count = sum(one.stop - one.start for one in binding.ranges)
    if count != prod(shape):
        yield f"expected {prod(shape)} elements for the shape {list(shape)}, found {count}"
