"""How long planning takes: the 1124 objects of qwen3.6-27b groupwise-int against a checkpoint of holes."""

from __future__ import annotations

import json
import time
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.table import Table

from benchmarks.checkpoints import recipe_of, source_tensor, write_header
from schemas.recipe.expanded import ExpandedRecipe
from workers.engine.plan import plan_conversion
from workers.engine.sources.roots import Roots

TARGET = "qwen3.6-27b.groupwise-int"
BUDGET_MS = 300
RUNS = 5


def measure() -> Table:
    """Best of five, in milliseconds, headers and all."""
    inventory = files("workers.engine.recipe") / "inventories" / f"{TARGET}.json"
    objects = json.loads(inventory.read_text())["objects"]
    tensors = [one for one in objects if one["kind"] == "tensor"]
    resources = [one for one in objects if one["kind"] == "resource"]
    with TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "model.safetensors"
        write_header(checkpoint, {one["name"]: source_tensor(one) for one in tensors})
        for number, _ in enumerate(resources):
            (Path(folder) / f"resource{number}").write_bytes(b"x")
        bound = [
            {"name": one["name"], "source": "base", "file": f"resource{number}"} for number, one in enumerate(resources)
        ]
        recipe = recipe_of(tensors, bound)
        best = min(_once(recipe, checkpoint) for _ in range(RUNS))
    table = Table("planning", "objects", "ms", "budget ms", title="planning")
    table.add_row(TARGET, str(len(objects)), f"{best:.0f}", str(BUDGET_MS))
    return table


def _once(recipe: ExpandedRecipe, checkpoint: Path) -> float:
    started = time.perf_counter()
    plan_conversion(recipe, {"base": checkpoint}, roots=Roots(None))
    return (time.perf_counter() - started) * 1e3
