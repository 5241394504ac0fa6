"""The map of a model's objects: in each stack of layers a row for a role and a column for a layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from service.dashboard.object_places import place_of

_MOST_PLACES = 8
"""Of a stack, for each of its objects. Models have at most two; names that share neither role nor layer would make as
many places as the square of their number."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One object of the map."""

    index: int
    name: str
    state: str


@dataclass(frozen=True, slots=True)
class RoleRow:
    """What has the same role in each layer, None where a layer has nothing of that role."""

    role: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack of layers by number, and its roles in the order in which they first come."""

    name: str
    layers: tuple[int, ...]
    rows: tuple[RoleRow, ...]


@dataclass(frozen=True, slots=True)
class ObjectMap:
    """All objects of a job; `others` are of no layer, or of stacks that are all gaps."""

    stacks: tuple[Stack, ...]
    others: tuple[Cell, ...]


def object_map(cells: Sequence[Cell]) -> ObjectMap:
    """The map of objects in payload order."""
    stacks: dict[str, dict[str, dict[int, Cell]]] = {}
    others = []
    for cell in cells:
        place = place_of(cell.name)
        if place.layer is None:
            others.append(cell)
        else:
            stacks.setdefault(place.stack, {}).setdefault(place.role, {})[place.layer] = cell
    dense = {name: roles for name, roles in stacks.items() if _is_dense(roles)}
    others += [
        cell for name, roles in stacks.items() if name not in dense for row in roles.values() for cell in row.values()
    ]
    others.sort(key=lambda cell: cell.index)
    return ObjectMap(tuple(_stack(name, roles) for name, roles in dense.items()), tuple(others))


def _is_dense(roles: Mapping[str, Mapping[int, Cell]]) -> bool:
    layers = {layer for cells in roles.values() for layer in cells}
    return len(layers) * len(roles) <= _MOST_PLACES * sum(map(len, roles.values()))


def _stack(name: str, roles: dict[str, dict[int, Cell]]) -> Stack:
    layers = tuple(sorted({layer for cells in roles.values() for layer in cells}))
    rows = tuple(RoleRow(role, tuple(cells.get(layer) for layer in layers)) for role, cells in roles.items())
    return Stack(name, layers, rows)
