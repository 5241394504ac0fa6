"""Reads the bindings and uses of framing 3 (container-v3.md, 4.4 and 4.5)."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from schemas.errors import ArtifactError
from schemas.storage_layouts import U64_MAX
from workers.engine.container.directory import StoredObject
from workers.engine.container.members import (
    Record,
    as_list,
    as_record,
    check_members,
    identifier,
    integer_from,
    named,
    one_of,
)
from workers.engine.container.model_description import (
    ActivationPolicy,
    Binding,
    ElementRange,
    JoinedRanges,
    Use,
    WholeTensor,
)
from workers.engine.container.strict_json import describe


def read_bindings(value: object, objects: Mapping[str, StoredObject], *, where: str) -> dict[str, Binding]:
    """Bindings by logical parameter, to tensors that are there and ranges inside them. Raises ArtifactError."""
    return named(value, lambda one, place: _binding(one, objects, place), where=where)


def _binding(value: object, objects: Mapping[str, StoredObject], place: str) -> Binding:
    record = as_record(value, where=place)
    if len(record) != 1 or not record.keys() <= {"object", "parts"}:
        raise ArtifactError(
            place, expected="either 'object' or 'parts'", found=", ".join(map(describe, record)) or "none"
        )
    if "object" in record:
        name = identifier(record["object"], f"{place}, member 'object'")
        _elements(name, objects, f"{place}, member 'object'")
        return WholeTensor(name)
    parts = as_list(record["parts"], where=f"{place}, parts")
    if not parts:
        raise ArtifactError(f"{place}, parts", expected="at least one part", found="an empty array")
    ranges = tuple(_range(one, objects, f"{place}, parts[{index}]") for index, one in enumerate(parts))
    total = sum(one.stop - one.start for one in ranges)
    if total > U64_MAX:
        raise ArtifactError(f"{place}, parts", expected=f"at most {U64_MAX} elements", found=f"{total}")
    return JoinedRanges(ranges)


def _range(value: object, objects: Mapping[str, StoredObject], place: str) -> ElementRange:
    record = as_record(value, where=place)
    check_members(record, ("object", "range"), where=place)
    name = identifier(record["object"], f"{place}, member 'object'")
    elements = _elements(name, objects, f"{place}, member 'object'")
    bounds = as_list(record["range"], where=f"{place}, member 'range'")
    if len(bounds) != 2:
        raise ArtifactError(f"{place}, member 'range'", expected="two integers", found=f"{len(bounds)}")
    start, stop = (integer_from(0, one, f"{place}, member 'range'") for one in bounds)
    if not start < stop <= elements:
        expected = f"a range that is not empty, inside the {elements} elements of {describe(name)}"
        raise ArtifactError(f"{place}, member 'range'", expected=expected, found=f"{start} to {stop}")
    return ElementRange(name, start, stop)


def _elements(name: str, objects: Mapping[str, StoredObject], place: str) -> int:
    """How many elements the tensor of that id has."""
    stored = objects.get(name)
    if stored is None or not stored.is_tensor:
        found = describe(name) if stored is None else f"the resource {describe(name)}"
        raise ArtifactError(place, expected="the id of a tensor object", found=found)
    return prod(stored.shape or ())


def read_uses(
    value: object, bindings: Mapping[str, Binding], objects: Mapping[str, StoredObject], *, where: str
) -> tuple[Use, ...]:
    """Uses of parameters that are bound, each pair of parameter and input once. Raises ArtifactError."""
    uses: list[Use] = []
    seen: dict[tuple[str, str], int] = {}
    for index, item in enumerate(as_list(value, where=where)):
        place = f"{where}[{index}]"
        use = _use(item, objects, place)
        if use.parameter not in bindings:
            found = describe(use.parameter)
            raise ArtifactError(f"{place}, member 'parameter'", expected="a parameter that is bound", found=found)
        first = seen.setdefault((use.parameter, use.input), index)
        if first != index:
            found = f"the pair of uses[{first}]"
            raise ArtifactError(place, expected="a pair of parameter and input not used before", found=found)
        uses.append(use)
    return tuple(uses)


def _use(value: object, objects: Mapping[str, StoredObject], place: str) -> Use:
    record = as_record(value, where=place)
    check_members(record, ("parameter", "input"), optional=("activation_policy", "auxiliaries"), where=place)
    parameter, input = (identifier(record[key], f"{place}, member {key!r}") for key in ("parameter", "input"))
    auxiliaries = read_bindings(record.get("auxiliaries", {}), objects, where=f"{place}, auxiliaries")
    return Use(parameter, input, _policy(record, place), auxiliaries)


def _policy(record: Record, place: str) -> ActivationPolicy | None:
    if "activation_policy" not in record:
        return None
    return one_of(ActivationPolicy, record["activation_policy"], f"{place}, member 'activation_policy'")
