"""Files of framing 1 and 2 to upgrade: of the inventories at full size, mostly holes, and of miniatures."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from schemas.registry import Format
from schemas.storage_layouts import payload
from schemas.upgrade_report import UpgradeReport
from workers.engine.architectures.architecture import Configs
from workers.engine.architectures.registered import ARCHITECTURES
from workers.engine.container.arrangement import Arrangement, arrange
from workers.engine.container.directory import Identity, SingleFileFraming, TensorObject
from workers.engine.container.placement import UnplacedObject, UnplacedResource, UnplacedTensor
from workers.engine.container.reader import ArtifactReader
from workers.engine.miniature import Miniature
from workers.engine.recipe.inventory import Inventory, InventoryTensor
from workers.engine.recipe.load import read_recipe
from workers.engine.steps import SilentObserver
from workers.engine.upgrade.expected import UpgradableModel, registered_model
from workers.engine.upgrade.plan import UpgradeOptions, UpgradePlan, plan_upgrade
from workers.engine.upgrade.upgrading import UpgradeObservers, upgrade

KEPT = UpgradeOptions()
SILENT = UpgradeObservers(SilentObserver(), SilentObserver())
TOKENS = 131_072
"""As many as each target proposes."""
ONE = b"\x00\x00\x80\x3f"

RESOURCES = {
    "frontend/tokenizer.json": json.dumps({"model": {"vocab": [""] * TOKENS}}).encode(),
    "frontend/tokenizer_config.json": b"{}",
    "frontend/chat_template.jinja": b"{{ messages }}",
    "frontend/generation_config.json": b'{"eos_token_id": 1}',
    "frontend/preprocessor_config.json": b'{"patch_size": 16, "temporal_patch_size": 2, "merge_size": 2}',
    "frontend/video_preprocessor_config.json": b'{"merge_size": 2, "patch_size": 16, "temporal_patch_size": 2}',
}


def write_old(
    path: Path, framing: SingleFileFraming, identity: Identity, tensors: Sequence[InventoryTensor]
) -> Arrangement:
    """Writes a file of holes, but for the words that an upgrade looks at: resources, divisors and token ids."""
    objects: list[UnplacedObject] = [
        *(UnplacedResource(name, len(content)) for name, content in RESOURCES.items()),
        *(UnplacedTensor(one.name, one.shape, one.format) for one in tensors),
    ]
    arrangement = arrange(framing, identity, objects)
    with path.open("wb") as file:
        file.write(arrangement.front())
        for stored in arrangement.objects:
            at = arrangement.payload_offset + stored.offset
            if not isinstance(stored, TensorObject):
                os.pwrite(file.fileno(), RESOURCES[stored.name], at)
            elif stored.name.endswith("/input_scale_divisor"):
                os.pwrite(file.fileno(), ONE, at)
            elif stored.format is Format.NVFP4:
                divisor = payload(stored.format, stored.shape, where=stored.name).planes[-1]
                os.pwrite(file.fileno(), ONE, at + divisor.offset)
            elif stored.name == "text/draft_head_token_ids":
                os.pwrite(file.fileno(), np.arange(*stored.shape, dtype="<i4").tobytes(), at)
        file.truncate(arrangement.file_bytes)
    return arrangement


def planned(path: Path, options: UpgradeOptions = KEPT, model: UpgradableModel | None = None) -> UpgradePlan:
    """The plan of an upgrade; without a model that of the registered one."""
    with ArtifactReader(path) as reader:
        return plan_upgrade(reader, model or registered_model(reader.artifact, where=str(path)), options)


def upgraded(
    path: Path,
    out: Path,
    model: UpgradableModel,
    options: UpgradeOptions = KEPT,
    observers: UpgradeObservers = SILENT,
    *,
    overwrite: bool = False,
) -> UpgradeReport:
    """Upgrades a file of `model`."""
    with ArtifactReader(path) as reader:
        plan = plan_upgrade(reader, model, options)
        return upgrade(plan, reader, out, threads=2, observers=observers, overwrite=overwrite)


def miniature_model(miniature: Miniature) -> UpgradableModel:
    """What files of a miniature hold: the objects of its recipe, and the configs of its checkpoints."""
    recipe = read_recipe(miniature.recipe)
    tensors = tuple(InventoryTensor(one.name, one.shape, one.format, one.layout) for one in recipe.objects)
    resources = tuple(one.name for one in recipe.resources)
    inventory = Inventory(recipe.model_id, recipe.weights_id, resources, tensors)
    architecture = ARCHITECTURES["qwen3_5"]

    def configs(offered: Sequence[str]) -> Configs:
        folders = {component: miniature.places.get(component, miniature.places["base"]) for component in offered}
        documents = {name: json.loads((folder / "config.json").read_text()) for name, folder in folders.items()}
        return architecture.component_configs(offered, documents)

    return UpgradableModel(architecture, inventory, configs)


def payload_of(path: Path) -> dict[str, bytes]:
    """The bytes of each object of an artifact of any framing, by name."""
    found: dict[str, bytes] = {}
    with ArtifactReader(path) as reader:
        for stored in reader.artifact.objects:
            content = bytearray(stored.bytes)
            reader.read_at(stored, 0, content)
            found[stored.name] = bytes(content)
    return found
