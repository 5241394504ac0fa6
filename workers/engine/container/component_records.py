"""Reads the components of framing 3 (container-v3.md, 4.2) by their form. What configs must say is not known here."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.errors import ArtifactError
from workers.engine.container.directory import StoredObject
from workers.engine.container.members import as_record, check_members, identifier, integer_from, member, named
from workers.engine.container.model_description import Component, Proposal
from workers.engine.container.open_content import open_record
from workers.engine.container.strict_json import describe


def read_components(value: object, objects: Mapping[str, StoredObject], *, where: str) -> dict[str, Component]:
    """Components by id; targets and resources are there. Raises ArtifactError."""
    components = named(value, _component, where=where)
    _check(components, objects, where)
    return components


def _component(value: object, place: str) -> Component:
    record = as_record(value, where=place)
    check_members(record, ("config",), optional=("target", "resources", "proposal"), where=place)
    config = open_record(record["config"], where=f"{place}, config")
    target = identifier(record["target"], f"{place}, member 'target'") if "target" in record else None
    resources = named(record.get("resources", {}), identifier, where=f"{place}, resources")
    proposal = _proposal(record["proposal"], f"{place}, proposal") if "proposal" in record else None
    return Component(config, target, resources, proposal)


def _proposal(value: object, place: str) -> Proposal:
    record = as_record(value, where=place)
    match member(record, "domain", where=place):
        case "full":
            check_members(record, ("domain",), where=place)
            return Proposal(None)
        case "indexed":
            check_members(record, ("domain", "rows"), where=place)
            return Proposal(integer_from(1, record["rows"], f"{place}, member 'rows'"))
        case domain:
            raise ArtifactError(f"{place}, member 'domain'", expected="'full' or 'indexed'", found=describe(domain))


def _check(components: Mapping[str, Component], objects: Mapping[str, StoredObject], where: str) -> None:
    if "text" not in components:
        raise ArtifactError(where, expected="a component 'text'", found="none")
    for name, component in components.items():
        place = f"{where}, {describe(name)}"
        if component.target is not None and component.target not in components:
            found = describe(component.target)
            raise ArtifactError(f"{place}, member 'target'", expected="the id of a component", found=found)
        if component.proposal is not None and name != "text":
            raise ArtifactError(f"{place}, member 'proposal'", expected="none outside 'text'", found="one")
        for role, object_id in component.resources.items():
            stored = objects.get(object_id)
            if stored is None or stored.is_tensor:
                found = describe(object_id) if stored is None else f"the tensor {describe(object_id)}"
                at = f"{place}, resources, {describe(role)}"
                raise ArtifactError(at, expected="the id of a resource object", found=found)
