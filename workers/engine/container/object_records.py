"""Reads the `objects` array: what its records have in common, and those of framings 1 and 2 (container.md, Directory;
storage-layouts.md for sizes)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from schemas.errors import ArtifactError, RegistryError
from schemas.registry import Format, Layout, ResourceEncoding, check_pair
from schemas.storage_layouts import ALIGNMENT, MAX_RANK, PLANE_ALIGNMENT, payload
from workers.engine.container.directory import ResourceObject, StoredObject, TensorObject
from workers.engine.container.members import Record, as_record, check_members, extents, member, one_of, text, unsigned
from workers.engine.container.strict_json import describe

_TENSOR = ("name", "kind", "shape", "format", "layout", "offset", "bytes")
_RESOURCE = ("name", "kind", "encoding", "offset", "bytes")

ReadObject = Callable[[Record, str], StoredObject]
"""Reads one record of `objects`; the second argument is where it stands."""


def read_objects(value: object, *, where: str) -> tuple[StoredObject, ...]:
    """The objects of framing 1 or 2 in payload order: records complete and closed, names unique, sizes those of format
    and shape, offsets aligned and ascending without overlap. Whether the last one ends inside its file is not known.

    Raises ArtifactError.
    """
    return object_list(value, {"tensor": _read_tensor, "resource": _read_resource}, key="name", where=where)


def object_list(value: object, kinds: Mapping[str, ReadObject], *, key: str, where: str) -> tuple[StoredObject, ...]:
    """The array `objects`, each record read as its kind is, with unique keys and places that ascend without overlap.

    Raises ArtifactError.
    """
    if not isinstance(value, list):
        raise ArtifactError(f"{where}, member 'objects'", expected="an array", found=describe(value))
    if not value:
        raise ArtifactError(f"{where}, member 'objects'", expected="at least one object", found="an empty array")
    objects: list[StoredObject] = []
    positions: dict[str, int] = {}
    for index, item in enumerate(value):
        place = f"{where}, objects[{index}]"
        record = as_record(item, where=place)
        if isinstance(record.get(key), str):
            place = f"{place} {describe(record[key])}"
        stored = _reader(record, kinds, place)(record, place)
        first = positions.setdefault(stored.name, index)
        if first != index:
            found = f"that of objects[{first}]"
            raise ArtifactError(f"{place}, member {key!r}", expected=f"a unique {key}", found=found)
        _check_place(stored, objects[-1] if objects else None, f"{place}, member 'offset'")
        objects.append(stored)
    return tuple(objects)


def _reader(record: Record, kinds: Mapping[str, ReadObject], where: str) -> ReadObject:
    kind = member(record, "kind", where=where)
    if not isinstance(kind, str) or kind not in kinds:
        expected = " or ".join(map(repr, kinds))
        raise ArtifactError(f"{where}, member 'kind'", expected=expected, found=describe(kind))
    return kinds[kind]


def _read_tensor(record: Record, where: str) -> TensorObject:
    check_members(record, _TENSOR, where=where)
    stored = TensorObject(
        name=text(record, "name", where=where),
        shape=extents(record, "shape", max_rank=MAX_RANK, where=where),
        format=one_of(Format, record["format"], f"{where}, member 'format'"),
        layout=one_of(Layout, record["layout"], f"{where}, member 'layout'"),
        offset=unsigned(record, "offset", where=where),
        bytes=unsigned(record, "bytes", where=where),
    )
    check_codec(stored, where)
    return stored


def check_codec(stored: TensorObject, where: str) -> None:
    """Raises ArtifactError for a pair of format and layout, a shape or a size that the registry does not have."""
    try:
        check_pair(stored.format, stored.layout, where=f"{where}, member 'layout'")
        size = payload(stored.format, stored.shape, where=f"{where}, member 'shape'").bytes
    except RegistryError as error:
        raise ArtifactError(error.where, expected=error.expected, found=error.found) from None
    if stored.bytes != size:
        expected = f"{size}, the size of {stored.format} {list(stored.shape)}"
        raise ArtifactError(f"{where}, member 'bytes'", expected=expected, found=f"{stored.bytes}")


def _read_resource(record: Record, where: str) -> ResourceObject:
    check_members(record, _RESOURCE, where=where)
    stored = ResourceObject(
        name=text(record, "name", where=where),
        encoding=one_of(ResourceEncoding, record["encoding"], f"{where}, member 'encoding'"),
        offset=unsigned(record, "offset", where=where),
        bytes=unsigned(record, "bytes", where=where),
    )
    if stored.bytes == 0:
        raise ArtifactError(f"{where}, member 'bytes'", expected="a resource that is not empty", found="0")
    return stored


def _check_place(stored: StoredObject, previous: StoredObject | None, where: str) -> None:
    alignment = PLANE_ALIGNMENT if stored.is_tensor else ALIGNMENT[ResourceEncoding.RAW_BYTES]
    if stored.offset % alignment:
        raise ArtifactError(where, expected=f"a multiple of {alignment}", found=f"{stored.offset}")
    if previous is not None and stored.offset < previous.end:
        expected = f"at least {previous.end}, where {describe(previous.name)} ends"
        raise ArtifactError(where, expected=expected, found=f"{stored.offset}")
