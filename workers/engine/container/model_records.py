"""Reads the root of a framing 3 directory and checks every rule that needs no knowledge of models (container-v3.md, 4
and 13)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schemas.errors import ArtifactError
from schemas.storage_layouts import U64_MAX
from workers.engine.container.binding_records import read_bindings, read_uses
from workers.engine.container.component_records import read_components
from workers.engine.container.directory import StoredObject
from workers.engine.container.members import Record, as_list, as_record, check_members, identifier, integer_from
from workers.engine.container.model_description import ConfigValue, ModelDescription
from workers.engine.container.model_object_records import read_model_objects
from workers.engine.container.open_content import open_record
from workers.engine.container.strict_json import describe


@dataclass(frozen=True, slots=True)
class ListedFile:
    """An entry of `files`: the continuation's name (None for the entry) and the payload bytes in it."""

    name: str | None
    payload_bytes: int


@dataclass(frozen=True, slots=True)
class ModelDirectory:
    """What the root of framing 3 holds."""

    objects: tuple[StoredObject, ...]
    description: ModelDescription
    files: tuple[ListedFile, ...]
    metadata: Mapping[str, ConfigValue]
    provenance: Mapping[str, ConfigValue]


def read_model(root: Record, *, where: str) -> ModelDirectory:
    """The directory whose JSON decodes to `root`. Raises ArtifactError for every rule that the root alone can break."""
    names = ("components", "objects", "bindings", "uses", "files")
    check_members(root, names, optional=("metadata", "provenance"), where=where)
    objects = read_model_objects(root["objects"], where=where)
    by_id = {stored.name: stored for stored in objects}
    files = _files(root["files"], f"{where}, files")
    total = sum(one.payload_bytes for one in files)
    if objects[-1].end > total:
        place = f"{where}, objects[{len(objects) - 1}] {describe(objects[-1].name)}"
        raise ArtifactError(place, expected=f"its end inside the payload of {total} bytes", found=f"{objects[-1].end}")
    components = read_components(root["components"], by_id, where=f"{where}, components")
    bindings = read_bindings(root["bindings"], by_id, where=f"{where}, bindings")
    uses = read_uses(root["uses"], bindings, by_id, where=f"{where}, uses")
    metadata = open_record(root.get("metadata", {}), where=f"{where}, metadata")
    if "name" in metadata:
        identifier(metadata["name"], f"{where}, metadata, member 'name'")
    provenance = open_record(root.get("provenance", {}), where=f"{where}, provenance")
    return ModelDirectory(objects, ModelDescription(components, bindings, uses), files, metadata, provenance)


def _files(value: object, where: str) -> tuple[ListedFile, ...]:
    files: list[ListedFile] = []
    seen: set[str | None] = set()
    for index, item in enumerate(as_list(value, where=where)):
        place = f"{where}[{index}]"
        record = as_record(item, where=place)
        check_members(record, ("path", "payload_bytes"), where=place)
        name = _file_name(record["path"], index, f"{place}, member 'path'")
        if name in seen:
            raise ArtifactError(f"{place}, member 'path'", expected="a name not used before", found=describe(name))
        seen.add(name)
        size = integer_from(1, record["payload_bytes"], f"{place}, member 'payload_bytes'")
        files.append(ListedFile(name, size))
    if not files:
        raise ArtifactError(where, expected="at least one file", found="an empty array")
    total = sum(one.payload_bytes for one in files)
    if total > U64_MAX:
        raise ArtifactError(where, expected=f"a payload of at most {U64_MAX} bytes", found=f"{total}")
    return tuple(files)


def _file_name(value: object, index: int, place: str) -> str | None:
    if index == 0:
        if value is not None:
            raise ArtifactError(place, expected="null, since the first file is the entry", found=describe(value))
        return None
    name = identifier(value, place)
    if "/" in name or "\\" in name or name in {".", ".."}:
        raise ArtifactError(place, expected="the bare name of a file beside the entry", found=describe(name))
    return name
