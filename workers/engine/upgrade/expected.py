"""What a file must hold to be upgraded: the objects of a registered target, in any order (container-v3.md, 14)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from schemas.errors import Fault, UpgradeError
from schemas.registry import FORMATS
from workers.engine.architectures.architecture import Architecture, Configs
from workers.engine.architectures.registered import ARCHITECTURES
from workers.engine.container.directory import Framing, Identity, StoredObject, TensorObject
from workers.engine.container.front import Artifact
from workers.engine.recipe.inventory import Inventory, InventoryTensor, load_inventory, registered_targets
from workers.engine.upgrade.dflash2 import dflash2_tensors

_EXPECTED = "a file of framing 1 or 2 of a registered target"
_WEIGHTS_OF_FRAMING_1 = "groupwise-int"
"""Framing 1 has no place for a weights_id; files of it were made of this kind of weights alone."""

_WITH_DFLASH2 = "qwen3.8-27b"


@dataclass(frozen=True, slots=True)
class UpgradableModel:
    """A model whose files can be upgraded: all objects of `inventory`, beside them all or none of `optional`, and the
    configs of the components that they offer."""

    architecture: Architecture
    inventory: Inventory
    configs: Callable[[Sequence[str]], Configs]
    optional: tuple[InventoryTensor, ...] = ()

    @property
    def identity(self) -> Identity:
        return Identity(self.inventory.model_id, self.inventory.weights_id)


def registered_model(artifact: Artifact, *, where: str) -> UpgradableModel:
    """The model that a file says it is of. Raises UpgradeError for a file of framing 3, and a model that is not
    registered."""
    if artifact.identity is None:
        message = f"framing {artifact.framing:d} is what current engines read: there is nothing to upgrade"
        raise UpgradeError(where, [Fault("", message)], expected=_EXPECTED)
    model_id = artifact.identity.model_id
    weights_id = artifact.identity.weights_id or _WEIGHTS_OF_FRAMING_1
    target = f"{model_id}/{weights_id}"
    if target not in registered_targets():
        known = ", ".join(registered_targets())
        at = "/model_id" if artifact.framing is Framing.ONE else "/identity"
        raise UpgradeError(where, [Fault(at, f"expected one of {known}, found {target}")], expected=_EXPECTED)
    architecture = ARCHITECTURES["qwen3_5"]
    return UpgradableModel(
        architecture,
        load_inventory(target),
        partial(architecture.published_configs, model_id),
        dflash2_tensors() if model_id == _WITH_DFLASH2 else (),
    )


def require_objects(objects: Sequence[StoredObject], model: UpgradableModel, *, where: str) -> None:
    """Raises UpgradeError with everything in which objects are not those of the model, whatever their order."""
    faults = list(_object_faults(objects, model))
    if faults:
        target = f"{model.inventory.model_id}/{model.inventory.weights_id}"
        raise UpgradeError(where, faults, expected=f"the objects of {target}")


def _object_faults(objects: Sequence[StoredObject], model: UpgradableModel) -> Iterator[Fault]:
    found = {stored.name: stored for stored in objects}
    tensors = {one.name: one for one in model.inventory.tensors}
    if any(one.name in found for one in model.optional):
        tensors |= {one.name: one for one in model.optional}
    resources = set(model.inventory.resources)
    for name in (*model.inventory.resources, *tensors):
        if name not in found:
            yield Fault("/objects", f"the target has {name!r}, which the file does not hold")
    for index, stored in enumerate(objects):
        yield from _one_fault(f"/objects/{index}", stored, tensors, resources)


def _one_fault(
    at: str, stored: StoredObject, tensors: Mapping[str, InventoryTensor], resources: set[str]
) -> Iterator[Fault]:
    listed = tensors.get(stored.name)
    if listed is None and stored.name not in resources:
        yield Fault(at, f"the target has no object {stored.name!r}")
    elif listed is None:
        if stored.is_tensor:
            yield Fault(at, f"the target has {stored.name!r} as a resource, found a tensor")
    elif not isinstance(stored, TensorObject):
        yield Fault(at, f"the target has {stored.name!r} as {listed}, found a resource")
    else:
        made = InventoryTensor(stored.name, stored.shape, stored.format, FORMATS[stored.format].layout)
        if made != listed:
            yield Fault(at, f"the target has {stored.name!r} as {listed}, found {made}")
