"""BLAKE3 of every source tensor that a plan uses, read by the verifier itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from math import prod

from blake3 import blake3

from schemas.source_dtypes import ELEMENT_BYTES, SourceDtype
from workers.engine.plan import Plan
from workers.engine.planned_objects import SourceTensor
from workers.engine.scratch import Scratch
from workers.engine.steps import Step, run_steps
from workers.engine.verify.leaves import PlannedLeaves

BLOCK_BYTES = 4 << 20


def source_digests(plan: Plan, *, threads: int) -> Mapping[SourceTensor, str]:
    """The digests in hexadecimal, each of the tensor's data bytes. Raises SourceError where a source has changed."""
    sizes = {
        (one.source, one.tensor): prod(one.shape) * ELEMENT_BYTES[SourceDtype(one.dtype)]
        for planned in plan.objects
        for one in planned.sources
    }
    digests: dict[SourceTensor, str] = {}

    def digest(leaves: PlannedLeaves, key: SourceTensor, size: int, scratch: Scratch) -> None:
        whole = blake3()
        for offset in range(0, size, BLOCK_BYTES):
            data = scratch.take("source", min(BLOCK_BYTES, size - offset))
            leaves.read(*key, offset, data)
            whole.update(data.data)
        digests[key] = whole.hexdigest()

    with PlannedLeaves(plan) as leaves:

        def steps() -> Iterator[Step[None]]:
            for key, size in sizes.items():
                yield partial(digest, leaves, key, size)

        run_steps(steps(), threads)
    return digests
