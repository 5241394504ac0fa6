"""The files of the service: work files of jobs under way, and the content-addressed store of finished artifacts."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from schemas.errors import VerificationError
from workers.engine.file_stamp import FileStamp

_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Storage:
    """`work/<job>/<name>` while a job is under way, `artifacts/<sha256>.ninfer` once its file has been verified."""

    data: Path

    def prepare(self) -> None:
        """Makes the folders."""
        for folder in (self._work, self._artifacts, self.data / "sources"):
            folder.mkdir(parents=True, exist_ok=True)

    def work_file(self, job_id: UUID, name: str) -> Path:
        """A file of a job under way, named after the claim it is planned under; its folder is made here."""
        folder = self._work / str(job_id)
        folder.mkdir(exist_ok=True)
        return folder / name

    def discard_superseded(self, job_id: UUID, claim_id: int) -> None:
        """Removes the work files that were planned under earlier claims, whose names are their ids.

        A worker that is late has an earlier claim than the one that took over, so it cannot remove the other's file.
        """
        for file in (self._work / str(job_id)).glob("*"):
            if int(file.stem) < claim_id:
                file.unlink(missing_ok=True)

    def artifact(self, sha256: str) -> Path:
        """The published file of that SHA-256."""
        return self._artifacts / f"{sha256}.ninfer"

    def publish(self, work_file: Path, sha256: str, stamp: FileStamp) -> None:
        """Moves a file that was verified under `stamp` into the store, whole and durably.

        Raises VerificationError if the path holds another file by now, or a changed one.
        """
        try:
            unchanged = FileStamp.of(work_file.lstat()) == stamp
        except FileNotFoundError:
            unchanged = False
        if not unchanged:
            raise VerificationError("artifact", expected="the file that was verified", found="another or a changed one")
        work_file.replace(self.artifact(sha256))
        _sync_folder(self._artifacts)

    def discard_work(self, job_id: UUID) -> None:
        """Removes all work files of a job and so frees their disk."""
        shutil.rmtree(self._work / str(job_id), ignore_errors=True)

    def free_bytes(self) -> int:
        """Bytes that the file system of the work files can still give."""
        return shutil.disk_usage(self._work).free

    def allocated_bytes(self, job_id: UUID) -> int:
        """Bytes of disk that the work files of a job have been given already."""
        total = 0
        with suppress(FileNotFoundError):  # the job may end meanwhile
            for file in (self._work / str(job_id)).iterdir():
                total += file.stat().st_blocks * _BLOCK
        return total

    @property
    def _work(self) -> Path:
        return self.data / "work"

    @property
    def _artifacts(self) -> Path:
        return self.data / "artifacts"


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
