"""What lies in the data folder that nothing refers to: processes left it that were killed (`ninforge gc`).

Safe beside a running service. A job's row is there before its first work file, and its parts' rows before the store has
their files, so that what no row refers to is nobody's; that is asked once more, under the same locks as everywhere,
before anything is removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from workers import job_endings
from workers.database import Database
from workers.storage import Storage


class GarbageKind(StrEnum):
    """`work` is all work files of a job, by its id, `artifact` one file of the store, by its SHA-256."""

    WORK = "work"
    ARTIFACT = "artifact"


@dataclass(frozen=True, slots=True)
class Garbage:
    """Something to remove, and the bytes of disk that it takes."""

    kind: GarbageKind
    name: str
    bytes: int


def find_garbage(database: Database, storage: Storage) -> list[Garbage]:
    """All there is, by kind and name."""
    stored = storage.stored()  # before the rows are read, or a file that comes meanwhile would have none
    jobs = job_endings.orphaned_work(database, storage)
    files = job_endings.unreferenced(database, stored)
    return [
        *(Garbage(GarbageKind.WORK, str(job_id), storage.allocated_bytes(job_id)) for job_id in sorted(jobs)),
        *(Garbage(GarbageKind.ARTIFACT, digest, storage.stored_bytes(digest)) for digest in sorted(files)),
    ]


def remove_garbage(database: Database, storage: Storage, garbage: Garbage) -> None:
    """Removes something that was found, unless it has come into use since."""
    if garbage.kind is GarbageKind.WORK:
        job_endings.discard_orphaned_work(database, storage, UUID(garbage.name))
    else:
        job_endings.discard_unreferenced(database, storage, [garbage.name])
