"""What values and templates name, looked at where they are written: names that do not exist, and cycles.

Expansion sees only what is used; this sees all of it, as far as names are written out and not made of variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemas.recipe.document import RecipeDocument
from schemas.recipe.entries import UseDocument
from schemas.recipe.fields import Faulty, walk
from schemas.recipe.operators import ValueDocument
from schemas.recipe.pointer import NodePath
from schemas.recipe.text import Text
from workers.engine.recipe.cycles import SHOWN, cycles
from workers.engine.recipe.fault_list import FaultList, unknown


@dataclass(frozen=True, slots=True)
class References:
    """The values that each value names, and whether values or templates contain themselves."""

    values: Mapping[str, Sequence[str]]
    cyclic: bool


def check_references(document: RecipeDocument, faults: FaultList) -> References:
    """Adds a fault for each value or template that does not exist, and for each cycle."""
    values = {} if isinstance(document.values, Faulty) else document.values
    templates = {} if isinstance(document.templates, Faulty) else document.templates
    value_graph: dict[str, list[str]] = {}
    template_graph: dict[str, list[str]] = {}
    for name, value in values.items():
        value_graph[name] = _named(value, ((None, "values"), name), document, faults)[0]
    for name, template in templates.items():
        template_graph[name] = _named(template, ((None, "templates"), name), document, faults)[1]
    _named(document.objects, (None, "objects"), document, faults)
    cyclic = False
    for what, section, graph in (("value", "values", value_graph), ("template", "templates", template_graph)):
        for cycle in cycles(graph):
            cyclic = True
            around = " -> ".join([*cycle, cycle[0] if len(cycle) < SHOWN else "..."])
            faults.add(((None, section), cycle[0]), f"the {what} {cycle[0]!r} contains itself: {around}")
    return References(value_graph, cyclic)


def _named(node: object, path: NodePath, document: RecipeDocument, faults: FaultList) -> tuple[list[str], list[str]]:
    """The values and the templates that a node names; those that do not exist are faults."""
    values: list[str] = []
    templates: list[str] = []
    for place, part in walk(node, path):
        match part:
            case ValueDocument(name=Text(literal=str() as name)):
                values.append(name)
                _check_known("value", name, document.values, (place, "value"), faults)
            case UseDocument(template=Text(literal=str() as name)):
                templates.append(name)
                _check_known("template", name, document.templates, (place, "use"), faults)
            case _:
                pass
    return values, templates


def _check_known(
    what: str, name: str, section: Mapping[str, object] | Faulty, path: NodePath, faults: FaultList
) -> None:
    if not isinstance(section, Faulty) and name not in section:
        faults.add(path, unknown(what, name, section))
