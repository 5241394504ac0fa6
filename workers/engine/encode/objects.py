"""Encodes objects of a plan into the work files: bounded blocks on all threads, durable when it returns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from pathlib import Path
from threading import Lock
from typing import Protocol

from blake3 import blake3

from schemas.errors import WordError
from schemas.recipe.expanded import Nvfp4, Same
from schemas.registry import EncoderProfile, Format, ResourceEncoding
from schemas.report import EncodedObject, ReciprocalRecord, SourceDigest
from schemas.storage_layouts import payload
from workers import _native
from workers.engine.container.arrangement import Arrangement
from workers.engine.container.writer import ArtifactFiles
from workers.engine.encode.blocks import Block, Making, divisor_word, tensor_blocks
from workers.engine.encode.encoders import CPU, NATIVE, Encoders
from workers.engine.encode.evaluation import Evaluation, width
from workers.engine.encode.inputs import PlannedInputs
from workers.engine.encode.lifting import lifted
from workers.engine.plan import Plan
from workers.engine.planned_objects import PlannedObject, PlannedResource, PlannedTensor, walk
from workers.engine.recipe.inference import Typed
from workers.engine.reciprocal import ReciprocalWord
from workers.engine.scratch import Bytes, Scratch
from workers.engine.steps import Observer, Step, run_steps

BLOCK_BYTES = 4 << 20
"""Source bytes of one block: large enough to hide the cost of handing it out, small enough to stay in cache."""


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
    progress = [_Progress(plan.objects[index]) for index in indices]
    with (
        ArtifactFiles.open(path, plan.arrangement) as file,
        PlannedInputs(plan) as inputs,
    ):
        run = _Run(plan, file, inputs, observer, block_bytes, encoders)
        steps = (step for one in progress for step in run.steps(one))
        run_steps(steps, max(threads, encoders.least_threads), encoders.allocate)
        file.sync()
    return [one.record(worker, encoders.backend) for one in progress]


Part = Callable[[Scratch], int]
"""Part of the making of one object; returns the payload bytes that it wrote."""


def _uses_encoders(planned: PlannedObject) -> bool:
    """Whether anything of the object is made where the encoders run, and not merely copied."""
    if isinstance(planned, PlannedResource):
        return False
    return isinstance(planned.spec.encode, EncoderProfile) or planned.spec.format is Format.NVFP4


def _nothing(_scratch: Scratch) -> int:
    return 0


@dataclass(slots=True)
class _Progress:
    """What making one object has come to. Several threads add to it."""

    planned: PlannedObject
    lock: Lock = field(default_factory=Lock)
    remaining: int = 1
    """Parts handed out and not ended, and one for what is still to be handed out."""
    blocks: int = 0
    started: float | None = None
    seconds: float = 0.0
    payload_blake3: str = ""
    source_digests: list[SourceDigest] = field(default_factory=list)
    reciprocals: list[ReciprocalWord] = field(default_factory=list)

    def hand_out(self) -> None:
        """Counts one more part."""
        with self.lock:
            self.remaining += 1

    def begin(self) -> None:
        with self.lock:
            if self.started is None:
                self.started = time.monotonic()

    def end(self) -> bool:
        """Counts one part as ended; True for the last one."""
        with self.lock:
            self.remaining -= 1
            return self.remaining == 0

    def record(self, worker: str, backend: str) -> EncodedObject:
        return EncodedObject(
            index=self.planned.index,
            encoder=ResourceEncoding.RAW_BYTES
            if isinstance(self.planned, PlannedResource)
            else self.planned.spec.encode,
            backend=backend if _uses_encoders(self.planned) else CPU,
            worker=worker,
            blocks=self.blocks,
            seconds=self.seconds,
            payload_blake3=self.payload_blake3,
            source_digests=tuple(sorted(self.source_digests, key=lambda one: (one.source, one.tensor))),
            reciprocals=tuple(
                ReciprocalRecord(
                    multiplier=one.multiplier_value, divisor=one.divisor_value, relative_error=one.relative_error
                )
                for one in self.reciprocals
            ),
        )


@dataclass(frozen=True, slots=True)
class _Run:
    """What all objects of one call share."""

    plan: Plan
    file: ArtifactFiles
    inputs: PlannedInputs
    observer: Observer
    block_bytes: int
    encoders: Encoders

    def steps(self, progress: _Progress) -> Iterator[Step[None]]:
        """Everything to be done for one object, each part made when it is handed out. Whichever ends last digests the
        payload as the file holds it."""
        for part in self._parts(progress):
            progress.hand_out()
            yield partial(self._step, progress, part)
        yield partial(self._step, progress, _nothing)

    def _parts(self, progress: _Progress) -> Iterator[Part]:
        match progress.planned:
            case PlannedResource() as planned:
                yield partial(self._copy_resource, planned)
            case PlannedTensor() as planned:
                yield from (partial(self._digest_source, progress, *key) for key in planned.digests)
                yield from self._comparisons(planned)
                for block in tensor_blocks(self._making(planned)):
                    progress.blocks += 1
                    yield partial(self._block, progress, planned, block)

    def _step(self, progress: _Progress, part: Part, scratch: Scratch) -> None:
        progress.begin()
        done = part(scratch)
        if progress.end():
            progress.payload_blake3 = self._digest_payload(progress.planned, scratch)
            progress.seconds = time.monotonic() - (progress.started or 0.0)
        self.observer.advanced(progress.planned.index, done)

    def _making(self, planned: PlannedTensor) -> Making:
        stored = self.plan.arrangement.objects[planned.index]

        def write(offset: int, data: Bytes) -> None:
            self.file.write_at(stored, offset, data.data)

        return Making(
            spec=planned.spec,
            value=lifted(planned.value),
            payload=payload(planned.format, planned.shape, where=f"object {planned.name}"),
            write=write,
            block_bytes=self.block_bytes,
            encoders=self.encoders,
        )

    def _block(self, progress: _Progress, planned: PlannedTensor, block: Block, scratch: Scratch) -> int:
        evaluation = Evaluation(planned.name, self.inputs, scratch)
        done = block(evaluation, scratch)
        with progress.lock:
            progress.reciprocals += evaluation.reciprocals
        return done

    def _copy_resource(self, planned: PlannedResource, _scratch: Scratch) -> int:
        stored = self.plan.arrangement.objects[planned.index]
        offset = 0
        for data in planned.content.blocks(self.plan.sources.roots):
            self.file.write_at(stored, offset, data)
            offset += len(data)
        return planned.bytes

    def _digest_source(self, progress: _Progress, source: str, tensor: str, _scratch: Scratch) -> int:
        digest = self.inputs.digest(source, tensor)
        with progress.lock:
            progress.source_digests.append(SourceDigest(source=source, tensor=tensor, blake3=digest))
        return 0

    def _digest_payload(self, planned: PlannedObject, scratch: Scratch) -> str:
        stored = self.plan.arrangement.objects[planned.index]
        digest = blake3()
        for offset in range(0, planned.bytes, self.block_bytes):
            data = scratch.take("payload", min(self.block_bytes, planned.bytes - offset))
            self.file.read_at(stored, offset, data.data)
            digest.update(data.data)
        return digest.hexdigest()

    def _comparisons(self, planned: PlannedTensor) -> Iterator[Part]:
        """What must be equal word for word: the operands of each `same`, and the object's `equals`."""
        values = (planned.value, *planned.equals)
        pairs = [
            (node.of[0], other, "same")
            for v in values
            for node in walk(v)
            if isinstance(node.op, Same)
            for other in node.of[1:]
        ]
        for other in planned.equals:
            if planned.is_copy:
                pairs += [(one, two, "equals") for one, two in zip(planned.value.of[:2], other.of[:2], strict=True)]
            else:
                pairs.append((planned.value, other, "equals"))
        for first, second, word in pairs:
            one, two = lifted(first), lifted(second)
            step = max(self.block_bytes // width(one), 1)
            total = prod(one.shape)
            for start in range(0, total, step):
                yield partial(self._compare, planned, one, two, word, start, min(step, total - start))
        if isinstance(planned.value.op, Nvfp4):
            yield from (partial(self._compare_divisors, planned, other) for other in planned.equals)

    def _compare_divisors(self, planned: PlannedTensor, other: Typed, scratch: Scratch) -> int:
        evaluation = Evaluation(planned.name, self.inputs, scratch)
        mine, theirs = (divisor_word(value, evaluation, planned.name) for value in (planned.value, other))
        if mine != theirs:
            raise WordError(
                evaluation.where(planned.value.of[2], 0),
                expected=f"under `equals` the divisor of {evaluation.where(other.of[2], 0)}, {_hexadecimal(theirs)}",
                found=_hexadecimal(mine),
            )
        return 0

    def _compare(
        self, planned: PlannedTensor, one: Typed, two: Typed, word: str, start: int, count: int, scratch: Scratch
    ) -> int:
        evaluation = Evaluation(planned.name, self.inputs, scratch)
        size = width(one)
        first, other = scratch.take("first", count * size), scratch.take("other", count * size)
        evaluation.read(one, start, first)
        evaluation.read(two, start, other)
        mismatch = _native.compare_words(first, other, size, count)
        if mismatch is not None:
            at = start + mismatch.column
            raise WordError(
                evaluation.where(one, at),
                expected=f"under `{word}` the word of {evaluation.where(two, at)}, 0x{mismatch.found:x}",
                found=f"0x{mismatch.expected:x}",
            )
        return 0


def _hexadecimal(word: bytes) -> str:
    return f"0x{int.from_bytes(word, 'little'):08x}"
