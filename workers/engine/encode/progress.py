"""What making one object has come to, and what provenance keeps of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

from schemas.registry import EncoderProfile, Format, ResourceEncoding
from schemas.report import EncodedObject, ReciprocalRecord, SourceDigest
from workers.engine.encode.encoders import CPU
from workers.engine.encode.parts import Parts
from workers.engine.encode.running_digest import RunningDigest
from workers.engine.planned_objects import PlannedObject, PlannedResource, SourceTensor
from workers.engine.reciprocal import ReciprocalWord
from workers.engine.scratch import Scratch


@dataclass(slots=True)
class Progress:
    """One object in the making. Several threads add to it; `payload_digest` and `source_digests` are of what they
    write and read."""

    planned: PlannedObject
    parts: Parts
    payload_digest: RunningDigest
    source_digests: Mapping[SourceTensor, RunningDigest]
    blocks: int = 0
    _lock: Lock = field(default_factory=Lock)
    _started: float | None = None
    _seconds: float = 0.0
    _payload_blake3: str = ""
    _source_blake3: tuple[SourceDigest, ...] = ()
    _reciprocals: list[ReciprocalWord] = field(default_factory=list)

    def begin(self) -> None:
        """Notes when the first part began."""
        with self._lock:
            if self._started is None:
                self._started = time.monotonic()

    def note_reciprocals(self, taken: Sequence[ReciprocalWord]) -> None:
        """Adds reciprocals that a part took."""
        with self._lock:
            self._reciprocals += taken

    def finish(self, scratch: Scratch) -> None:
        """Takes the digests, when the last part has ended."""
        self._source_blake3 = tuple(
            SourceDigest(source=source, tensor=tensor, blake3=digest.hexdigest(scratch))
            for (source, tensor), digest in sorted(self.source_digests.items())
        )
        self._payload_blake3 = self.payload_digest.hexdigest(scratch)
        self._seconds = time.monotonic() - (self._started or 0.0)

    def record(self, worker: str, backend: str) -> EncodedObject:
        """The provenance of an object all of whose parts have ended."""
        planned = self.planned
        return EncodedObject(
            index=planned.index,
            encoder=ResourceEncoding.RAW_BYTES if isinstance(planned, PlannedResource) else planned.spec.encode,
            backend=backend if _uses_encoders(planned) else CPU,
            worker=worker,
            blocks=self.blocks,
            seconds=self._seconds,
            payload_blake3=self._payload_blake3,
            source_digests=self._source_blake3,
            reciprocals=tuple(
                ReciprocalRecord(
                    multiplier=one.multiplier_value, divisor=one.divisor_value, relative_error=one.relative_error
                )
                for one in self._reciprocals
            ),
        )


def _uses_encoders(planned: PlannedObject) -> bool:
    """Whether anything of the object is made where the encoders run, and not merely copied."""
    if isinstance(planned, PlannedResource):
        return False
    return isinstance(planned.spec.encode, EncoderProfile) or planned.spec.format is Format.NVFP4
