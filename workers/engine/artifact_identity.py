"""The id in the headers of framing 3, which container-v3.md leaves to the writer: one conversion has always one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

from workers.engine.container.arrangement import ARTIFACT_ID_BYTES
from workers.engine.container.directory import Framing
from workers.engine.plan import Plan
from workers.engine.planned_objects import PlannedResource, SourceTensor


def artifact_id(plan: Plan, source_blake3: Mapping[SourceTensor, str]) -> bytes | None:
    """The 16 bytes that tell this conversion from others; None in framings 1 and 2, which have none.

    That which the plan was asked to have, else the first bytes of the SHA-256 over lines, each ended by a newline:
    SHA-256 of the recipe's canonical form, the framing, then, sorted, `source/tensor blake3` of every source tensor and
    `resource sha256` of every resource. `source_blake3` must have every tensor that the plan uses.
    """
    if plan.framing is not Framing.THREE or plan.arrangement.artifact_id is not None:
        return plan.arrangement.artifact_id
    used = {(one.source, one.tensor) for planned in plan.objects for one in planned.sources}
    tensors = [f"{source}/{tensor} {source_blake3[source, tensor]}" for source, tensor in used]
    resources = [f"{one.name} {one.content.sha256}" for one in plan.objects if isinstance(one, PlannedResource)]
    return _of_lines([plan.recipe.sha256, f"{plan.framing:d}", *sorted([*tensors, *resources])])


def upgrade_id(file_sha256: str, options: Iterable[str]) -> bytes:
    """The id of a file made from another one: over the word upgrade, that file's SHA-256 and the options."""
    return _of_lines(["upgrade", file_sha256, *options])


def _of_lines(lines: Iterable[str]) -> bytes:
    return sha256("".join(f"{line}\n" for line in lines).encode()).digest()[:ARTIFACT_ID_BYTES]
