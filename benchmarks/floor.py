"""The least that a conversion does: read the source, digest each byte of it and of the artifact, write the artifact."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue

import numpy as np
from blake3 import blake3

from workers.engine.container.output_file import begin_writing_back
from workers.engine.encode import create_work_files
from workers.engine.plan import Plan
from workers.engine.planned_objects import PlannedTensor
from workers.engine.scratch import Bytes
from workers.engine.sources.aligned import aligned_bytes

BLOCK_BYTES = 2 << 20


def run_floor(plan: Plan, path: Path, threads: int) -> None:
    """Does so with files of the plan's sizes, made and synced as a conversion makes and syncs them. What is written
    are random bytes. Every object has to be a tensor with one source tensor."""
    create_work_files(plan, path)
    queue: SimpleQueue[PlannedTensor] = SimpleQueue()
    for planned in sorted(plan.objects, key=lambda one: -one.bytes):
        assert isinstance(planned, PlannedTensor)  # noqa: S101 - the recipes are ours
        queue.put(planned)
    file = os.open(path, os.O_WRONLY)
    try:
        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(_work, plan, file, queue) for _ in range(threads)]:
                done.result()
        os.fdatasync(file)
    finally:
        os.close(file)


def _work(plan: Plan, file: int, queue: SimpleQueue[PlannedTensor]) -> None:
    source, made = aligned_bytes(BLOCK_BYTES), aligned_bytes(BLOCK_BYTES)
    made[:] = np.random.default_rng(1).integers(0, 256, made.size, dtype=np.uint8)
    while (planned := _next(queue)) is not None:
        _one(plan, file, planned, source, made)


def _next(queue: SimpleQueue[PlannedTensor]) -> PlannedTensor | None:
    try:
        return queue.get_nowait()
    except Empty:
        return None


def _one(plan: Plan, file: int, planned: PlannedTensor, source: Bytes, made: Bytes) -> None:
    """Reads and writes one object, as much of the artifact at a time as it has for a block of the source."""
    [entry] = planned.tensors.values()
    start = plan.arrangement.payload_offset + planned.offset
    of_source, of_payload, done = blake3(), blake3(), 0
    checkpoint = os.open(entry.file.path, os.O_RDONLY)
    try:
        for offset in range(0, entry.bytes, BLOCK_BYTES):
            block = source[: min(BLOCK_BYTES, entry.bytes - offset)].data
            os.preadv(checkpoint, [block], entry.start + offset)
            of_source.update(block)
            until = planned.bytes * (offset + block.nbytes) // entry.bytes
            part = made[: until - done].data
            of_payload.update(part)
            os.pwrite(file, part, start + done)
            begin_writing_back(file, start + done, part.nbytes)
            done = until
    finally:
        os.close(checkpoint)
