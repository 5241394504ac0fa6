"""One object with its members resolved, defaults filled in and checked: recipe.md (objects, encode)."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.errors import RegistryError
from schemas.recipe.entries import ObjectDocument
from schemas.recipe.expanded import (
    DraftIds,
    ExpandedObject,
    Expression,
    Fp8Row,
    Nonfinite,
    Nvfp4,
    Require,
)
from schemas.recipe.fields import Faulty
from schemas.recipe.pointer import NodePath, pointer
from schemas.registry import FORMATS, Encode, EncoderProfile, Format, Layout, WordOrigin
from schemas.storage_layouts import payload
from workers.engine.recipe.entry_expansion import PlacedEntry
from workers.engine.recipe.expression_expansion import ExpressionExpander
from workers.engine.recipe.fault_list import unknown
from workers.engine.recipe.resolution import Resolver
from workers.engine.recipe.scope import Scope

FLOATING_FORMATS = (Format.BF16, Format.FP32)
"""Direct floating-point formats, which `nonfinite` is for."""

REQUIRING_FORMATS = (Format.FP32, Format.I32)
"""Formats that `require` is for."""

_ENCODES: Mapping[str, Encode] = {encode.value: encode for encode in (*WordOrigin, *EncoderProfile)}

_TOP_FORMATS: Mapping[type[Expression], Format] = {
    Nvfp4: Format.NVFP4,
    Fp8Row: Format.FP8_E4M3FN_ROW_BF16S,
    DraftIds: Format.I32,
}
"""The format of the values that only three operators make."""


class ObjectExpander:
    """Turns object entries into objects. `gathering` are those that gather by another one."""

    def __init__(self, resolver: Resolver, expressions: ExpressionExpander) -> None:
        self._resolver = resolver
        self._faults = resolver.faults
        self._expressions = expressions
        self.gathering: list[ExpandedObject] = []
        self._stored: set[tuple[Format, tuple[int, ...]]] = set()

    def expand(self, placed: PlacedEntry, name: str) -> ExpandedObject | None:
        """The object of that name; None where a fault, now in the list, stands in the way."""
        entry, scope, path = placed.entry, placed.scope, placed.path
        gathers = self._expressions.gathers
        self._resolver.budget.canonical_bytes(len(name), path)
        shape = self._resolver.canonical_integers(entry.shape, scope, (path, "shape"))
        format = self._resolver.choice(entry.format, Format, scope, (path, "format"), what="format")
        value = self._expressions.value(entry.value, scope, (path, "value"))
        equals = self._equals(entry, scope, path)
        if format is None:
            return None
        layout = self._layout(entry, format, scope, path)
        encode = self._encode(entry, format, scope, path)
        nonfinite = self._nonfinite(entry, format, scope, path)
        require = self._require(entry, format, scope, path)
        if shape is not None:
            self._check_shape(format, shape, name, path)
        if value is not None and encode is not None:
            self._check_value(value, format, encode, path)
        if shape is None or value is None or equals is None or layout is None or encode is None or nonfinite is None:
            return None
        spec = ExpandedObject(name, shape, format, layout, encode, nonfinite, require, value, equals, at=pointer(path))
        if self._expressions.gathers > gathers:
            self.gathering.append(spec)
        return spec

    def _equals(self, entry: ObjectDocument, scope: Scope, path: NodePath) -> tuple[Expression, ...] | None:
        if isinstance(entry.equals, Faulty):
            return None
        place = (path, "equals")
        others = [self._expressions.value(other, scope, (place, i)) for i, other in enumerate(entry.equals)]
        known = tuple(other for other in others if other is not None)
        return known if len(known) == len(others) else None

    def _layout(self, entry: ObjectDocument, format: Format, scope: Scope, path: NodePath) -> Layout | None:
        stored = FORMATS[format].layout
        if entry.layout is None:
            return stored
        place = (path, "layout")
        layout = self._resolver.choice(entry.layout, Layout, scope, place, what="layout")
        if layout is not None and layout is not stored:
            self._faults.add(place, f"{format} is stored as {stored}, found {layout}")
        return layout

    def _encode(self, entry: ObjectDocument, format: Format, scope: Scope, path: NodePath) -> Encode | None:
        allowed = FORMATS[format].encodes
        if entry.encode is None:
            if WordOrigin.PRESERVE in allowed:
                return WordOrigin.PRESERVE
            self._faults.add(path, f"an object of {format} needs the member 'encode': {' or '.join(allowed)}")
            return None
        place = (path, "encode")
        name = self._resolver.name(entry.encode, scope, place)
        encode = None if name is None else _ENCODES.get(name)
        if name is not None and encode is None:
            self._faults.add(place, unknown("encode", name, _ENCODES))
        if encode is not None and encode not in allowed:
            self._faults.add(place, f"encode {encode} is not for {format}, which takes {' or '.join(allowed)}")
            return None
        return encode

    def _nonfinite(self, entry: ObjectDocument, format: Format, scope: Scope, path: NodePath) -> Nonfinite | None:
        if entry.nonfinite is None:
            return Nonfinite.REJECT
        place = (path, "nonfinite")
        if format not in FLOATING_FORMATS:
            self._faults.add(place, f"'nonfinite' is for {' and '.join(FLOATING_FORMATS)}, not for {format}")
        return self._resolver.choice(entry.nonfinite, Nonfinite, scope, place, what="nonfinite")

    def _require(self, entry: ObjectDocument, format: Format, scope: Scope, path: NodePath) -> Require | None:
        if entry.require is None:
            return None
        place = (path, "require")
        if format not in REQUIRING_FORMATS:
            self._faults.add(place, f"'require' is for {' and '.join(REQUIRING_FORMATS)}, not for {format}")
        return self._resolver.choice(entry.require, Require, scope, place, what="require")

    def _check_shape(self, format: Format, shape: tuple[int, ...], name: str, path: NodePath) -> None:
        if (format, shape) in self._stored:
            return
        try:
            payload(format, shape, where=f"object {name!r}")
            self._stored.add((format, shape))
        except RegistryError as error:
            self._faults.add((path, "shape"), str(error))

    def _check_value(self, value: Expression, format: Format, encode: Encode, path: NodePath) -> None:
        """Already quantized words are copied and nothing else is; selected ids are I32."""
        made = _TOP_FORMATS.get(type(value))
        if made is not None and made is not format:
            self._faults.add((path, "value"), f"the value is of format {made}, the object of {format}")
        elif encode is WordOrigin.COPY and made is None:
            operator = "nvfp4" if format is Format.NVFP4 else "fp8_row"
            self._faults.add((path, "value"), f"encode copy takes a value by {operator!r}")
        elif encode in EncoderProfile and made is not None:
            self._faults.add((path, "encode"), f"words that are already {made} are copied, not encoded by {encode}")
