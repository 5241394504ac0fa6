"""What lies in the data folder that nothing needs (`ninforge gc`): processes left it that were killed, or it was
fetched for jobs that have ended.

Safe beside a running service. A job's row is there before its first work file, and its parts' rows before the store has
their files, so that what no row refers to is nobody's; that is asked once more, under the same locks as everywhere,
before anything is removed.
"""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from uuid import UUID

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from schemas.states import ACTIVE_STATES
from schemas.tables import JobRow
from workers import job_endings
from workers.database import Database
from workers.remote.cache import RemoteCache
from workers.remote.places import is_remote, parse_remote
from workers.storage import Storage, disk_bytes

FETCHED_SECONDS = 24 * 3600
"""How long what has been fetched lies unused at least: plans, which are no jobs, may need it once more."""


class GarbageKind(StrEnum):
    """`work` is all work files of a job, by its id; `artifact` one file of the store, by its SHA-256; `fetched` all
    that was fetched of a remote source, by its folder in the cache, and what has come of it so far."""

    WORK = "work"
    ARTIFACT = "artifact"
    FETCHED = "fetched"


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
        *_unused_fetched(database, RemoteCache(storage.fetched)),
    ]


def remove_garbage(database: Database, storage: Storage, garbage: Garbage) -> None:
    """Removes something that was found, unless it has come into use since."""
    if garbage.kind is GarbageKind.WORK:
        job_endings.discard_orphaned_work(database, storage, UUID(garbage.name))
    elif garbage.kind is GarbageKind.ARTIFACT:
        job_endings.discard_unreferenced(database, storage, [garbage.name])
    else:
        _remove_fetched(database, RemoteCache(storage.fetched), storage.fetched / garbage.name)


def _unused_fetched(database: Database, cache: RemoteCache) -> list[Garbage]:
    with database.reading() as session:
        used = _fetched_of_active_jobs(session, cache)
    long_ago = time.time() - FETCHED_SECONDS
    return [
        Garbage(GarbageKind.FETCHED, str(folder.relative_to(cache.folder)), disk_bytes(folder.rglob("*")))
        for folder in sorted(cache.folders())
        if folder not in used and _last_change(folder) < long_ago
    ]


def _remove_fetched(database: Database, cache: RemoteCache, folder: Path) -> None:
    with database.writing() as session:
        if session.get_bind().dialect.name == "postgresql":
            session.execute(text("LOCK TABLE jobs IN SHARE MODE"))  # no job comes meanwhile that might need it
        if folder in _fetched_of_active_jobs(session, cache) or not folder.is_dir():
            return
        aside = cache.set_aside(folder)
    shutil.rmtree(aside, ignore_errors=True)


def _fetched_of_active_jobs(session: Session, cache: RemoteCache) -> set[Path]:
    jobs = session.execute(select(JobRow.sources, JobRow.resources).where(JobRow.state.in_(ACTIVE_STATES)))
    places = {where for members in jobs for named in members for where in named.values() if is_remote(where)}
    return {cache.folder_of(parse_remote(where, "source")) for where in places}


def _last_change(folder: Path) -> float:
    newest = 0.0
    with suppress(FileNotFoundError):
        for path in (folder, *folder.rglob("*")):
            newest = max(newest, path.lstat().st_mtime)
    return newest
