"""Registered inventories: the complete list of objects that a recipe with a `target` must expand to (targets.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType

from schemas.errors import Fault
from schemas.recipe.expanded import ExpandedRecipe
from schemas.registry import Format, Layout


@dataclass(frozen=True, slots=True)
class InventoryTensor:
    """A tensor object of an inventory."""

    name: str
    shape: tuple[int, ...]
    format: Format
    layout: Layout

    def __str__(self) -> str:
        return f"{self.format} {list(self.shape)} in {self.layout}"


@dataclass(frozen=True, slots=True)
class Inventory:
    """Every object of one artifact in payload order: resources first, then tensors."""

    model_id: str
    weights_id: str
    resources: tuple[str, ...]
    tensors: tuple[InventoryTensor, ...]


@cache
def registered_targets() -> Mapping[str, Traversable]:
    """The file of each inventory by target, "model_id/weights_id"."""
    folder = files("workers.engine.recipe").joinpath("inventories")
    stems = {file.name.removesuffix(".json"): file for file in folder.iterdir() if file.name.endswith(".json")}
    return MappingProxyType({"/".join(stem.rsplit(".", 1)): stems[stem] for stem in sorted(stems)})


@cache
def load_inventory(target: str) -> Inventory:
    """The inventory of a registered target. Raises KeyError for another."""
    listed = json.loads(registered_targets()[target].read_bytes())
    tensors = tuple(
        InventoryTensor(item["name"], tuple(item["shape"]), Format(item["format"]), Layout(item["layout"]))
        for item in listed["objects"]
        if item["kind"] == "tensor"
    )
    resources = tuple(item["name"] for item in listed["objects"] if item["kind"] == "resource")
    return Inventory(listed["model_id"], listed["weights_id"], resources, tensors)


def inventory_faults(recipe: ExpandedRecipe, inventory: Inventory) -> Iterator[Fault]:
    """Every way in which an expansion is not what an inventory lists, object for object."""
    for member, found, expected in (
        ("model_id", recipe.model_id, inventory.model_id),
        ("weights_id", recipe.weights_id, inventory.weights_id),
    ):
        if found != expected:
            yield Fault(f"/{member}", f"the target has the {member} {expected!r}, found {found!r}")
    resources = {resource.name: resource.at for resource in recipe.resources}
    yield from _list_faults("resource", "/resources", resources, inventory.resources)
    objects = {spec.name: spec.at for spec in recipe.objects}
    yield from _list_faults("object", "/objects", objects, tuple(tensor.name for tensor in inventory.tensors))
    expected_tensors = {tensor.name: tensor for tensor in inventory.tensors}
    for spec in recipe.objects:
        made = InventoryTensor(spec.name, spec.shape, spec.format, spec.layout)
        listed = expected_tensors.get(spec.name, made)
        if made != listed:
            yield Fault(spec.at, f"the target has the object {spec.name!r} as {listed}, found {made}")


def _list_faults(what: str, at: str, found: Mapping[str, str], expected: tuple[str, ...]) -> Iterator[Fault]:
    """Names that are missing, that are too many, and, where neither is, the first that stands in another place."""
    same_names = True
    for name in expected:
        if name not in found:
            same_names = False
            yield Fault(at, f"the target has the {what} {name!r}, which the recipe does not make")
    listed = set(expected)
    for name, place in found.items():
        if name not in listed:
            same_names = False
            yield Fault(place, f"the target has no {what} {name!r}")
    if same_names:
        for index, (made, wanted) in enumerate(zip(found, expected, strict=True)):
            if made != wanted:
                yield Fault(found[made], f"the target has {wanted!r} as {what} {index}, found {made!r}")
                return
