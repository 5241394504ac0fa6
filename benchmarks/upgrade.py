"""An upgrade to framing 3 beside `cp` of the same file: about 2 GB of a model with few layers, in the page cache."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.table import Table

from benchmarks.checkpoints import fill, trained_words
from workers.engine.architectures.registered import ARCHITECTURES
from workers.engine.container.arrangement import Arrangement, arrange
from workers.engine.container.directory import Framing, Identity, ResourceObject, TensorObject
from workers.engine.container.placement import UnplacedResource, UnplacedTensor
from workers.engine.container.reader import ArtifactReader
from workers.engine.container.writer import ArtifactFiles
from workers.engine.miniature.model_config import dense_config
from workers.engine.miniature.resources import resource_files
from workers.engine.miniature.sizes import GROUPWISE, Sizes
from workers.engine.recipe.inventory import Inventory, InventoryTensor
from workers.engine.recipe.registered import load_registered
from workers.engine.steps import SilentObserver
from workers.engine.upgrade.copying import write_upgraded
from workers.engine.upgrade.expected import UpgradableModel
from workers.engine.upgrade.plan import UpgradeOptions, plan_upgrade
from workers.engine.upgrade.upgrading import UpgradeObservers, upgrade

UPGRADE = "upgrade"
TARGET = "qwen3.6-27b.groupwise-int"
SIZES: Sizes = {**GROUPWISE, "H": 5120, "I": 17_408, "vocab": 150_000}
RUNS = 3
THREADS = 2


def measure() -> Table:
    """Seconds of each way to a second file: the best of some rounds, in each of which all have their turn."""
    with TemporaryDirectory() as name:
        old, model = _write_old(Path(name) / "old.ninfer")
        out = old.with_name("out.ninfer")
        ways: dict[str, Callable[[], object]] = {
            "cp": partial(_copy, old, out),
            "cp, until it is on the disk": partial(_copy, old, out, os.fsync),
            "upgrade, written and on the disk": partial(_write, old, model, out),
            "upgrade, verified": partial(_upgrade, old, model, out),
        }
        best = dict.fromkeys(ways, float("inf"))
        for _ in range(RUNS):
            for what, way in ways.items():
                best[what] = min(best[what], _seconds(way))
                out.unlink()
        table = Table("what", "s", "GB/s", title=f"{UPGRADE} of {old.stat().st_size / 1e9:.2f} GB")
        for what, seconds in best.items():
            table.add_row(what, f"{seconds:.2f}", f"{old.stat().st_size / seconds / 1e9:.2f}")
    return table


def _seconds(way: Callable[[], object]) -> float:
    os.sync()  # what the way before left to write
    started = time.perf_counter()
    way()
    return time.perf_counter() - started


def _copy(old: Path, out: Path, then: Callable[[int], None] = lambda _file: None) -> None:
    subprocess.run(["/bin/cp", "--reflink=auto", old, out], check=True)
    with out.open("rb") as file:
        then(file.fileno())


def _write(old: Path, model: UpgradableModel, out: Path) -> None:
    with ArtifactReader(old) as reader:
        write_upgraded(plan_upgrade(reader, model, UpgradeOptions()), reader, out, SilentObserver())


def _upgrade(old: Path, model: UpgradableModel, out: Path) -> None:
    observers = UpgradeObservers(SilentObserver(), SilentObserver())
    with ArtifactReader(old) as reader:
        upgrade(plan_upgrade(reader, model, UpgradeOptions()), reader, out, threads=THREADS, observers=observers)


def _write_old(path: Path) -> tuple[Path, UpgradableModel]:
    """A file of framing 2 whose words are the same few over and over, and the model that it is of."""
    recipe = load_registered(TARGET, let=SIZES)
    resources = {f"frontend/{name}": text.encode() for name, text in resource_files(SIZES).items()}
    arrangement = arrange(
        Framing.TWO,
        Identity(recipe.model_id, recipe.weights_id),
        [
            *(UnplacedResource(one.name, len(resources[one.name])) for one in recipe.resources),
            *(UnplacedTensor(one.name, one.shape, one.format) for one in recipe.objects),
        ],
    )
    with path.open("wb") as file:
        fill(file, 0, arrangement.file_bytes, trained_words(seed=6))
    _write_front(path, arrangement, resources)
    tensors = tuple(InventoryTensor(one.name, one.shape, one.format, one.layout) for one in recipe.objects)
    inventory = Inventory(recipe.model_id, recipe.weights_id, tuple(resources), tensors)
    architecture = ARCHITECTURES["qwen3_5"]
    config = dense_config(SIZES)
    model = UpgradableModel(
        architecture,
        inventory,
        lambda offered: architecture.component_configs(offered, dict.fromkeys(offered, config)),
    )
    return path, model


def _write_front(path: Path, arrangement: Arrangement, resources: dict[str, bytes]) -> None:
    """Directory, resources and the ids of the draft head."""
    with path.open("r+b") as file:
        front = arrangement.front()
        os.pwrite(file.fileno(), front.ljust(arrangement.payload_offset, b"\0"), 0)
    with ArtifactFiles.open(path, arrangement) as files:
        for stored in arrangement.objects:
            if isinstance(stored, ResourceObject):
                files.write_at(stored, 0, resources[stored.name])
            elif isinstance(stored, TensorObject) and stored.name == "text/draft_head_token_ids":
                files.write_at(stored, 0, np.arange(*stored.shape, dtype="<i4").tobytes())
