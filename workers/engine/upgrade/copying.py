"""Writes the files of an upgrade at the speed of copying, and digests the old one meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

from blake3 import blake3

from schemas.errors import Fault, UpgradeError
from schemas.report import EncodedObject
from workers.engine.container.reader import ArtifactReader
from workers.engine.container.writer import ArtifactFiles
from workers.engine.sources.aligned import aligned_bytes
from workers.engine.steps import Observer
from workers.engine.upgrade.plan import UpgradePlan
from workers.engine.upgrade.planned_copies import PlannedCopy

ENCODER = "copy"
BACKEND = "kernel"
"""Who makes the payload of an object: it is copied, by the operating system's kernel."""

CHUNK_BYTES = 64 << 20
"""Copied between two looks at whether to go on. Chunks begin where blocks do, so that files can share them."""
_READ_BYTES = 1 << 20


def write_upgraded(plan: UpgradePlan, reader: ArtifactReader, path: Path, observer: Observer) -> str:
    """Makes the files of the upgrade, the entry at `path`, durably. Returns the SHA-256 of the old file.

    `observer` is told of payload bytes, all of object 0. Raises OutputError as ArtifactFiles does, ArtifactError where
    the old file cannot be read, UpgradeError where it changes meanwhile, and whatever `observer` raises.
    """
    with ArtifactFiles.create(path, plan.arrangement) as files, ThreadPoolExecutor(1) as pool:
        digest = _FileDigest(reader)
        digest.update(0, plan.old.payload_offset)
        for start, count in _chunks(plan.old.payload_bytes):
            position = plan.old.payload_offset + start
            digested = pool.submit(digest.update, position, count)
            files.copy_at(start, reader.fileno(), position, count)
            digested.result()
            observer.advanced(0, count)
        if plan.template is not None:
            files.write_at(plan.template, 0, plan.options.chat_template or b"")
        require_same(plan, reader)
        found = digest.hexdigest()
        files.write_artifact_id(plan.artifact_id(found))
    return found


def copy_objects(
    plan: UpgradePlan,
    reader: ArtifactReader,
    path: Path,
    indices: Sequence[int],
    *,
    worker: str,
    observer: Observer,
) -> list[EncodedObject]:
    """Makes some objects of files that ArtifactFiles.create made of the plan, durably, and with each what lies between
    it and the next one in the old payload.

    Raises OutputError, ArtifactError, and whatever `observer` raises.
    """
    with ArtifactFiles.open(path, plan.arrangement) as files, ArtifactReader(path) as made:
        copied = [_copied(plan, reader, files, made, plan.objects[index], worker, observer) for index in indices]
        files.sync()
    return copied


def _copied(
    plan: UpgradePlan,
    reader: ArtifactReader,
    files: ArtifactFiles,
    made: ArtifactReader,
    copy: PlannedCopy,
    worker: str,
    observer: Observer,
) -> EncodedObject:
    began = time.monotonic()
    if copy.covers is None:
        files.write_at(copy.stored, 0, plan.options.chat_template or b"")
    else:
        start, stop = copy.covers
        for offset, count in _chunks(stop - start):
            position = plan.old.payload_offset + start + offset
            files.copy_at(start + offset, reader.fileno(), position, count)
            observer.advanced(copy.index, 0)
    digest = blake3()
    buffer = aligned_bytes(_READ_BYTES)
    for offset in range(0, copy.bytes, _READ_BYTES):
        block = buffer[: min(_READ_BYTES, copy.bytes - offset)].data
        made.read_at(copy.stored, offset, block)
        digest.update(block)
        observer.advanced(copy.index, block.nbytes)
    return EncodedObject(
        index=copy.index,
        encoder=ENCODER,
        backend=BACKEND,
        worker=worker,
        blocks=1,
        seconds=time.monotonic() - began,
        payload_blake3=digest.hexdigest(),
        source_digests=(),
    )


def old_sha256(plan: UpgradePlan, reader: ArtifactReader, observer: Observer) -> str:
    """SHA-256 of the old file. Raises ArtifactError, UpgradeError where it has changed, and what `observer` raises."""
    digest = _FileDigest(reader)
    for start, count in _chunks(plan.old.file_bytes):
        digest.update(start, count)
        observer.advanced(0, 0)
    require_same(plan, reader)
    return digest.hexdigest()


def require_same(plan: UpgradePlan, reader: ArtifactReader) -> None:
    """Raises UpgradeError where the old file is no longer what it was when it was planned with."""
    if reader.stamps() != (plan.stamp,):
        fault = Fault("", "it was changed while it was read")
        raise UpgradeError(str(reader.path), [fault], expected="a file that stays as it is")


def _chunks(payload_bytes: int) -> Iterator[tuple[int, int]]:
    for start in range(0, payload_bytes, CHUNK_BYTES):
        yield start, min(CHUNK_BYTES, payload_bytes - start)


class _FileDigest:
    """SHA-256 of the entry of an artifact, given its bytes in order by their places."""

    def __init__(self, reader: ArtifactReader) -> None:
        self._reader = reader
        self._digest = sha256()
        self._buffer = aligned_bytes(_READ_BYTES)

    def update(self, position: int, count: int) -> None:
        for start in range(position, position + count, _READ_BYTES):
            block = self._buffer[: min(_READ_BYTES, position + count - start)].data
            self._reader.read_file_at(0, start, block)
            self._digest.update(block)

    def hexdigest(self) -> str:
        return self._digest.hexdigest()
