"""Encodes objects of a plan into the work files: bounded blocks on all threads, durable when it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np

from schemas.report import EncodedObject
from schemas.storage_layouts import payload
from workers.engine.container.arrangement import Arrangement
from workers.engine.container.writer import ArtifactFiles
from workers.engine.encode.blocks import Block, Making, tensor_blocks
from workers.engine.encode.comparisons import Comparison, comparisons
from workers.engine.encode.encoders import NATIVE, Encoders
from workers.engine.encode.evaluation import Evaluation
from workers.engine.encode.inputs import DigestedInputs, PlannedInputs
from workers.engine.encode.lifting import lifted
from workers.engine.encode.parts import Parts
from workers.engine.encode.progress import Progress
from workers.engine.encode.running_digest import RunningDigest
from workers.engine.plan import Plan
from workers.engine.planned_objects import PlannedObject, PlannedResource, PlannedTensor
from workers.engine.scratch import Bytes, Scratch
from workers.engine.steps import Observer, Step, run_chains

BLOCK_BYTES = 7 << 19
"""Bytes of one block, its source and what is made of it: enough to hide the cost of handing it out, few enough for a
cache."""


class Arranged(Protocol):
    """Any plan of an artifact."""

    @property
    def arrangement(self) -> Arrangement: ...


def create_work_files(plan: Arranged, path: Path) -> None:
    """Creates the artifact's files at their final sizes with headers and directory in place, all payloads zero: the
    entry at `path`, continuations beside it.

    Raises OutputError where a path is taken, or a file cannot be written or has no room.
    """
    ArtifactFiles.create(path, plan.arrangement).close()


def inscribe_artifact_id(plan: Arranged, path: Path, artifact_id: bytes | None) -> None:
    """Writes the id into the headers of the work files whose entry is at `path`; nothing where there is no id.

    Raises OutputError where a file cannot be written.
    """
    if artifact_id is not None:
        with ArtifactFiles.open(path, plan.arrangement) as files:
            files.write_artifact_id(artifact_id)


def encode_objects(
    plan: Plan,
    path: Path,
    indices: Sequence[int],
    *,
    threads: int,
    worker: str,
    observer: Observer,
    block_bytes: int = BLOCK_BYTES,
    encoders: Encoders = NATIVE,
) -> list[EncodedObject]:
    """Makes the payloads of the objects at `indices` in the work files whose entry is at `path`, durably, on `threads`
    threads, or more if `encoders` need more.

    Raises WordError for a source word that cannot be stored, SourceError, OutputError, DeviceError, and whatever
    `observer` raises. Of several failures the earliest in the order of `indices` and coordinates is raised.
    """
    with (
        ArtifactFiles.open(path, plan.arrangement) as file,
        PlannedInputs(plan) as inputs,
    ):
        run = _Run(plan, file, inputs, observer, block_bytes, encoders)
        progress = [run.progress(plan.objects[index]) for index in indices]
        run_chains(map(run.steps, progress), max(threads, encoders.least_threads), encoders.allocate)
        file.sync()
    return [one.record(worker, encoders.backend) for one in progress]


Part = Callable[[int, Scratch], int]
"""Part of the making of one object, given its number among them; returns the payload bytes that it wrote."""


@dataclass(frozen=True, slots=True)
class _Run:
    """What all objects of one call share."""

    plan: Plan
    file: ArtifactFiles
    inputs: PlannedInputs
    observer: Observer
    block_bytes: int
    encoders: Encoders

    def progress(self, planned: PlannedObject) -> Progress:
        """One object of which nothing is done."""
        stored = self.plan.arrangement.objects[planned.index]
        parts = Parts()

        def read(offset: int, out: Bytes) -> None:
            self.file.read_at(stored, offset, out.data)

        keys = planned.digests if isinstance(planned, PlannedTensor) else ()
        return Progress(
            planned,
            parts,
            payload_digest=RunningDigest(planned.bytes, read, parts),
            source_digests={key: self.inputs.running_digest(*key, parts) for key in keys},
        )

    def steps(self, progress: Progress) -> Iterator[Step[None]]:
        """Everything to be done for one object, each part made when it is handed out. Whichever ends last takes what
        is left of the digests."""
        for part in self._parts(progress):
            yield partial(self._step, progress, progress.parts.hand_out(), part)
        yield partial(self._step, progress, progress.parts.hand_out(last=True), _nothing)

    def _parts(self, progress: Progress) -> Iterator[Part]:
        match progress.planned:
            case PlannedResource() as planned:
                yield partial(self._copy_resource, progress, planned)
            case PlannedTensor() as planned:
                for comparison in comparisons(planned, self.block_bytes):
                    yield partial(self._compare, progress, comparison)
                making, write = self._making(planned), self._writer(progress, planned)
                for block in tensor_blocks(making):
                    progress.blocks += 1
                    yield partial(self._block, progress, block, write)

    def _step(self, progress: Progress, number: int, part: Part, scratch: Scratch) -> None:
        progress.begin()
        done, ended_last = 0, False
        try:
            done = part(number, scratch)
        finally:
            ended_last = progress.parts.end(number)
        if ended_last:
            progress.finish(scratch)
        self.observer.advanced(progress.planned.index, done)

    def _making(self, planned: PlannedTensor) -> Making:
        return Making(
            spec=planned.spec,
            value=lifted(planned.value),
            payload=payload(planned.format, planned.shape, where=f"object {planned.name}"),
            block_bytes=self.block_bytes,
            encoders=self.encoders,
        )

    def _writer(self, progress: Progress, planned: PlannedTensor) -> Callable[[int, int, Bytes], None]:
        stored = self.plan.arrangement.objects[planned.index]
        first_plane_end = payload(planned.format, planned.shape, where=f"object {planned.name}").planes[0].end

        def write(part: int, offset: int, data: Bytes) -> None:
            self.file.write_at(stored, offset, data.data)
            if offset < first_plane_end:  # the other planes begin to go by while the first one still does
                progress.payload_digest.passing(part, offset, data)

        return write

    def _evaluation(self, progress: Progress, number: int, scratch: Scratch) -> Evaluation:
        inputs = DigestedInputs(self.inputs, progress.source_digests, number)
        return Evaluation(progress.planned.name, inputs, scratch)

    def _compare(self, progress: Progress, comparison: Comparison, number: int, scratch: Scratch) -> int:
        comparison(self._evaluation(progress, number, scratch), scratch)
        return 0

    def _block(
        self, progress: Progress, block: Block, write: Callable[[int, int, Bytes], None], number: int, scratch: Scratch
    ) -> int:
        evaluation = self._evaluation(progress, number, scratch)
        done = block(evaluation, partial(write, number), scratch)
        progress.note_reciprocals(evaluation.reciprocals)
        return done

    def _copy_resource(self, progress: Progress, planned: PlannedResource, number: int, _scratch: Scratch) -> int:
        stored = self.plan.arrangement.objects[planned.index]
        offset = 0
        for data in planned.content.blocks(self.plan.sources.roots):
            self.file.write_at(stored, offset, data)
            progress.payload_digest.passing(number, offset, np.frombuffer(data, np.uint8))
            offset += len(data)
        return planned.bytes


def _nothing(_number: int, _scratch: Scratch) -> int:
    return 0
