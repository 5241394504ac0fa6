"""Small checkpoints, recipes for them, and conversions of both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.recipe.expanded import ExpandedRecipe
from schemas.report import ConversionReport
from workers.engine.convert import Observers, convert
from workers.engine.encode import BLOCK_BYTES
from workers.engine.packaging import Packaging
from workers.engine.plan import Plan, plan_conversion
from workers.engine.recipe.load import load_recipe
from workers.engine.sources.roots import ANYWHERE
from workers.engine.steps import SilentObserver
from workers.engine.verify import Coverage

EVIDENCE = [{"claim": "a test, without a claim of quality", "url": "https://example.org/"}]
SILENT = Observers(SilentObserver(), SilentObserver())
Tensors = Mapping[str, tuple[str, tuple[int, ...], bytes]]
"""Name to dtype as safetensors spells it, shape, and data."""


def write_checkpoint(path: Path, tensors: Tensors) -> Path:
    """Writes one safetensors file."""
    entries: dict[str, object] = {}
    end = 0
    for name, (dtype, shape, data) in tensors.items():
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [end, end + len(data)]}
        end += len(data)
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"".join(data for _, _, data in tensors.values()))
    return path


def document(objects: list[dict[str, Any]], **members: Any) -> dict[str, Any]:
    """A recipe over one checkpoint named base."""
    return {
        "recipe": 1,
        "id": "test",
        "revision": 1,
        "model_id": "test-model",
        "weights_id": "test-weights",
        "sources": {"base": {"kind": "checkpoint"}},
        "evidence": EVIDENCE,
        "objects": objects,
        **members,
    }


def one_object(format: str, shape: tuple[int, ...], encode: str, value: object, **members: Any) -> dict[str, Any]:
    """An object named weight."""
    return {"name": "weight", "shape": list(shape), "format": format, "encode": encode, "value": value, **members}


def recipe(objects: list[dict[str, Any]], **members: Any) -> ExpandedRecipe:
    return load_recipe(json.dumps(document(objects, **members)), where="test")


@dataclass(frozen=True)
class Converted:
    """An artifact that was made, and what it was made with."""

    path: Path
    plan: Plan
    report: ConversionReport

    def payload(self, index: int = 0) -> bytes:
        planned = self.plan.objects[index]
        start = self.plan.arrangement.payload_offset + planned.offset
        return self.path.read_bytes()[start : start + planned.bytes]


def converted(
    folder: Path,
    tensors: Tensors,
    objects: list[dict[str, Any]],
    *,
    framing: int | None = None,
    threads: int = 2,
    block_bytes: int = BLOCK_BYTES,
    coverage: Coverage | None = Coverage.FULL,
    **members: Any,
) -> Converted:
    """Writes the checkpoint and converts it into `folder`, verifying as asked."""
    place = write_checkpoint(folder / "model.safetensors", tensors)
    plan = plan_conversion(recipe(objects, **members), {"base": place}, packaging=Packaging(framing), roots=ANYWHERE)
    out = folder / "out.ninfer"
    report = convert(
        plan,
        out,
        coverage=coverage,
        threads=threads,
        observers=SILENT,
        overwrite=True,
        block_bytes=block_bytes,
    )
    return Converted(out, plan, report)
