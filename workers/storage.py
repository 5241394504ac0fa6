"""The files of the service: work files of jobs under way, and the content-addressed store of finished artifacts."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from schemas.errors import OutputError, VerificationError
from workers.engine.container.output_file import sync_folder
from workers.engine.file_stamp import FileStamp

_BLOCK = 512
_ENTRY = "artifact.ninfer"
_PUBLISHED = re.compile(r"[0-9a-f]{64}\.ninfer")


@dataclass(frozen=True, slots=True)
class VerifiedFile:
    """A work file that was verified under `stamp`."""

    path: Path
    sha256: str
    stamp: FileStamp

    def require_unchanged(self) -> None:
        """Raises VerificationError if its path holds another file by now, or a changed one."""
        try:
            unchanged = FileStamp.of(self.path.lstat()) == self.stamp
        except FileNotFoundError:
            unchanged = False
        if not unchanged:
            raise VerificationError("artifact", expected="the file that was verified", found="another or a changed one")


@dataclass(frozen=True, slots=True)
class Storage:
    """`work/<job>/<set>/` while a job is under way, `artifacts/<sha256>.ninfer` once a file has been verified."""

    data: Path

    def prepare(self) -> None:
        """Makes the folders."""
        for folder in (self._work, self._artifacts, self.data / "sources"):
            folder.mkdir(parents=True, exist_ok=True)

    def new_work_files(self, job_id: UUID, claim_id: int) -> str:
        """Makes the folder for a set of work files, named after the claim that the job is planned under."""
        folder = self._work_folder(job_id) / str(claim_id)
        while not folder.is_dir():
            with suppress(FileNotFoundError):  # others remove the job's folder whenever it is empty
                folder.mkdir(parents=True, exist_ok=True)
        return str(claim_id)

    def work_entry(self, job_id: UUID, name: str) -> Path:
        """The entry file of a set of work files; continuations lie beside it."""
        return self._work_folder(job_id) / name / _ENTRY

    def discard_work_files(self, job_id: UUID, name: str) -> None:
        """Removes one set of work files."""
        shutil.rmtree(self._work_folder(job_id) / name, ignore_errors=True)

    def discard_superseded(self, job_id: UUID, claim_id: int) -> None:
        """Removes the work files that were planned under earlier claims, whose names are their ids.

        A worker that is late has an earlier claim than the one that took over, so it cannot remove the other's files.
        """
        folders = self._work_folder(job_id)
        for folder in folders.glob("*"):
            with suppress(ValueError):  # not one of ours
                if int(folder.name) < claim_id:
                    shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # not there, or not empty
            folders.rmdir()

    def jobs_with_work(self) -> set[UUID]:
        """The jobs that have a folder of work files."""
        jobs: set[UUID] = set()
        for folder in self._work.iterdir():
            with suppress(ValueError):  # not one of ours
                jobs.add(UUID(folder.name))
        return jobs

    def artifact(self, sha256: str) -> Path:
        """The published file of that SHA-256."""
        return self._artifacts / f"{sha256}.ninfer"

    def stored(self) -> set[str]:
        """SHA-256 of all published files."""
        return {file.stem for file in self._artifacts.iterdir() if _PUBLISHED.fullmatch(file.name)}

    def holds(self, sha256: Sequence[str]) -> bool:
        """Whether all of these files are published."""
        return all(self.artifact(one).is_file() for one in sha256)

    def remove_artifact(self, sha256: str) -> None:
        """Removes the published file of that SHA-256, if it is there."""
        self.artifact(sha256).unlink(missing_ok=True)

    def publish(self, verified: Sequence[VerifiedFile]) -> None:
        """Moves files that were verified into the store, whole and durably, the first last.

        As long as that one is among the work files, all of them are, so that a worker that dies meanwhile can be
        followed by another. Raises VerificationError if a path holds another file by now, or a changed one, OutputError
        for several files where the file system has no hard links.
        """
        for file in verified:
            file.require_unchanged()
        entry, *continuations = verified
        for file in continuations:
            self._link(file)
        sync_folder(self._artifacts)
        entry.path.replace(self.artifact(entry.sha256))
        sync_folder(self._artifacts)

    def _link(self, file: VerifiedFile) -> None:
        # Beside the work file, so that what a kill leaves goes with the work files.
        pending = file.path.with_name(f".{secrets.token_hex(8)}.pending")
        try:
            pending.hardlink_to(file.path)
            pending.replace(self.artifact(file.sha256))
        except OSError as error:
            expected = "a file system with hard links, for an artifact of several files"
            raise OutputError("store of artifacts", expected=expected, found=str(error.strerror)) from None
        finally:
            # Where the target is the same file already, replacing leaves both names.
            pending.unlink(missing_ok=True)

    def discard_work(self, job_id: UUID) -> None:
        """Removes all work files of a job and so frees their disk."""
        shutil.rmtree(self._work_folder(job_id), ignore_errors=True)

    @property
    def fetched(self) -> Path:
        """The folder of what has been fetched from remote sources."""
        return self.data / "fetched"

    def free_bytes(self) -> int:
        """Bytes that the file system of the work files can still give."""
        return shutil.disk_usage(self._work).free

    def allocated_bytes(self, job_id: UUID) -> int:
        """Bytes of disk that the work files of a job have been given already."""
        return disk_bytes(self._work_folder(job_id).rglob("*"))

    def stored_bytes(self, sha256: str) -> int:
        """Bytes of disk that the published file of that SHA-256 takes, 0 if it is not there."""
        return disk_bytes([self.artifact(sha256)])

    def _work_folder(self, job_id: UUID) -> Path:
        return self._work / str(job_id)

    @property
    def _work(self) -> Path:
        return self.data / "work"

    @property
    def _artifacts(self) -> Path:
        return self.data / "artifacts"


def disk_bytes(files: Iterable[Path]) -> int:
    """Bytes of disk that files have been given; others may remove them meanwhile."""
    total = 0
    with suppress(FileNotFoundError):
        for file in files:
            total += file.lstat().st_blocks * _BLOCK
    return total
