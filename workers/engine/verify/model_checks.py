"""Holds an artifact of framing 3 to the rules of its architecture: directory, resources and the words that an engine
looks at when it loads (container-v3.md, 10 and 13)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import assert_never

import numpy as np
import numpy.typing as npt

from schemas.errors import ArchitectureError, Fault, VerificationError
from schemas.storage_layouts import payload
from workers.engine.architectures.architecture import MAX_RESOURCE_BYTES
from workers.engine.architectures.registered import ARCHITECTURES, architecture_of
from workers.engine.architectures.value_checks import (
    DistinctTokens,
    Element,
    IdenticalElements,
    PositiveElement,
    PositiveWeightDivisor,
    ValueCheck,
)
from workers.engine.container.directory import TensorObject
from workers.engine.container.model_description import ElementRange, ModelDescription
from workers.engine.container.reader import ArtifactReader
from workers.engine.container.strict_json import describe

_WORD_BYTES = 4
_INFINITY = 0x7F800000


def check_model(reader: ArtifactReader) -> tuple[str, ...]:
    """Nothing in framings 1 and 2, which say nothing of a model. Returns and raises as `check_described` does."""
    description = reader.artifact.description
    return () if description is None else check_described(reader, description)


def check_described(reader: ArtifactReader, description: ModelDescription) -> tuple[str, ...]:
    """Holds the objects of an artifact to a description, be it its own or one that is to be made of it. Returns, in
    words, the bindings and uses that no rule speaks of.

    Raises ArchitectureError with every fault of the directory and the resources, VerificationError for an architecture
    or a component that is not registered and for a stored word that an engine refuses.
    """
    architecture = architecture_of(description)
    if architecture is None:
        found = repr(description.components["text"].config.get("architectures"))[:100]
        expected = f"a registered architecture ({', '.join(ARCHITECTURES)})"
        raise VerificationError("component text, config, architectures", expected=expected, found=found)
    for component in description.components:
        if component not in architecture.components:
            expected = f"one that is known of {architecture.name} ({', '.join(architecture.components)})"
            raise VerificationError("components", expected=expected, found=describe(component))
    tensors = {one.name: one for one in reader.artifact.objects if isinstance(one, TensorObject)}
    faults: Sequence[Fault] = list(architecture.architecture_faults(description, tensors))
    tokens: int | None = None
    if not faults:
        findings = architecture.resource_findings(description, partial(_whole, reader))
        faults, tokens = findings.faults, findings.tokens
    if faults:
        raise ArchitectureError(str(reader.path), faults, expected=f"a file of the architecture {architecture.name}")
    for check in architecture.value_checks(description, tensors):
        _check(check, reader, tensors, tokens)
    return tuple(architecture.passed_over(description))


def _check(check: ValueCheck, reader: ArtifactReader, tensors: dict[str, TensorObject], tokens: int | None) -> None:
    match check:
        case PositiveElement(element):
            _require_positive(_element(reader, element), f"object {element.object}, element {element.index}")
        case PositiveWeightDivisor(name):
            plane = payload(tensors[name].format, tensors[name].shape, where=f"object {name}").planes[-1]
            word = _words(reader, name, plane.offset // _WORD_BYTES, 1)[0]
            _require_positive(int(word), f"object {name}, plane {plane.name}")
        case IdenticalElements(name, elements):
            words = {_element(reader, element) for element in elements}
            if len(words) > 1:
                found = ", ".join(f"0x{word:08x}" for word in sorted(words))
                where = f"divisors of the inputs of object {name}"
                raise VerificationError(where, expected="the same word in all", found=found)
        case DistinctTokens(ranges, limit):
            _check_tokens(reader, ranges, limit if tokens is None else min(limit, tokens))
        case _:
            assert_never(check)


def _check_tokens(reader: ArtifactReader, ranges: Sequence[ElementRange], limit: int) -> None:
    ids = np.concatenate([_words(reader, one.object, one.start, one.stop - one.start) for one in ranges])
    beyond = np.flatnonzero(ids >= limit)  # as unsigned words, so that negative ids are past every limit
    where = f"object {ranges[0].object}"
    if beyond.size:
        at = int(beyond[0])
        found = f"{ids[at].astype(np.int32)} at element {at}"
        raise VerificationError(where, expected=f"ids of tokens, from 0 to {limit - 1}", found=found)
    unique, counts = np.unique(ids, return_counts=True)
    if unique.size < ids.size:
        twice = int(unique[np.argmax(counts > 1)])
        raise VerificationError(where, expected="distinct ids", found=f"{twice} twice")


def _require_positive(word: int, where: str) -> None:
    if not 0 < word < _INFINITY:
        raise VerificationError(where, expected="a finite divisor above zero", found=f"word 0x{word:08x}")


def _element(reader: ArtifactReader, element: Element) -> int:
    return int(_words(reader, element.object, element.index, 1)[0])


def _words(reader: ArtifactReader, name: str, start: int, count: int) -> npt.NDArray[np.uint32]:
    words = np.empty(count, "<u4")
    reader.read_at(reader.artifact.object(name), start * _WORD_BYTES, words.view(np.uint8).data)
    return words


def _whole(reader: ArtifactReader, name: str) -> bytes:
    stored = reader.artifact.object(name)
    if stored.bytes > MAX_RESOURCE_BYTES:
        found = f"{stored.bytes} bytes"
        raise VerificationError(f"resource {name}", expected=f"at most {MAX_RESOURCE_BYTES} bytes", found=found)
    content = bytearray(stored.bytes)
    reader.read_at(stored, 0, content)
    return bytes(content)
