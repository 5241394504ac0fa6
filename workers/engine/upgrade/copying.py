"""Writes the files of an upgrade at the speed of copying, and digests the old one meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

from schemas.errors import Fault, UpgradeError
from workers.engine.container.reader import ArtifactReader
from workers.engine.container.writer import ArtifactFiles
from workers.engine.sources.aligned import aligned_bytes
from workers.engine.steps import Observer
from workers.engine.upgrade.plan import UpgradePlan

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
