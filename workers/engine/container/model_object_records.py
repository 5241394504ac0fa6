"""Reads the `objects` array of framing 3 (container-v3.md, 4.3 and 5)."""

from __future__ import annotations

from math import prod

from schemas.errors import ArtifactError
from schemas.storage_layouts import MAX_RANK, U64_MAX
from workers.engine.container.directory import ForeignObject, ResourceObject, StoredObject, TensorObject
from workers.engine.container.members import Record, check_members, extents, identifier, integer_from, member, unsigned
from workers.engine.container.object_records import check_codec, object_list
from workers.engine.container.spellings import ENCODING_SPELLINGS, FORMAT_SPELLINGS, LAYOUT_SPELLINGS

_FORMATS = {spelling: format for format, spelling in FORMAT_SPELLINGS.items()}
_LAYOUTS = {spelling: layout for layout, spelling in LAYOUT_SPELLINGS.items()}
_ENCODINGS = {spelling: encoding for encoding, spelling in ENCODING_SPELLINGS.items()}


def read_model_objects(value: object, *, where: str) -> tuple[StoredObject, ...]:
    """The objects in payload order, a ForeignObject where format, layout or encoding is not in the registry. Whether
    the last one ends inside the payload is not known. Raises ArtifactError."""
    return object_list(value, {"tensor": _tensor, "resource": _resource}, key="id", where=where)


def _tensor(record: Record, where: str) -> StoredObject:
    check_members(record, ("id", "kind", "shape", "format", "layout", "offset", "bytes"), where=where)
    name = identifier(record["id"], f"{where}, member 'id'")
    shape = extents(record, "shape", max_rank=MAX_RANK, where=where)
    if prod(shape) > U64_MAX:
        expected = f"at most {U64_MAX} elements"
        raise ArtifactError(f"{where}, member 'shape'", expected=expected, found=f"{prod(shape)}")
    format_name, layout_name = (identifier(record[key], f"{where}, member {key!r}") for key in ("format", "layout"))
    offset, size = unsigned(record, "offset", where=where), _size(record, where)
    format, layout = _FORMATS.get(format_name), _LAYOUTS.get(layout_name)
    if format is None or layout is None:
        return ForeignObject(name, shape, format_name, layout_name, offset, size)
    stored = TensorObject(name, shape, format, layout, offset, size)
    check_codec(stored, where)
    return stored


def _resource(record: Record, where: str) -> StoredObject:
    check_members(record, ("id", "kind", "encoding", "offset", "bytes"), where=where)
    name = identifier(record["id"], f"{where}, member 'id'")
    encoding = identifier(record["encoding"], f"{where}, member 'encoding'")
    offset, size = unsigned(record, "offset", where=where), _size(record, where)
    known = _ENCODINGS.get(encoding)
    if known is None:
        return ForeignObject(name, None, None, encoding, offset, size)
    return ResourceObject(name, known, offset, size)


def _size(record: Record, where: str) -> int:
    return integer_from(1, member(record, "bytes", where=where), f"{where}, member 'bytes'")
