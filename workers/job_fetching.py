"""A job's part in the fetching of its remote sources: commits and progress in SQL, and disk that is reserved."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from schemas.tables import JobRow
from workers import claims, job_events, job_records
from workers.claims import Claim, ClaimLostError
from workers.database import Database
from workers.heartbeat import Heartbeat
from workers.remote.download import Advance
from workers.remote.places import HubPlace
from workers.storage import Storage

_SECONDS = 1.0
"""Between two records of how far the fetching is."""


class JobFetching:
    """A Fetching under a claim of the job."""

    def __init__(self, database: Database, storage: Storage, claim: Claim, heartbeat: Heartbeat) -> None:
        self._database = database
        self._storage = storage
        self._claim = claim
        self._heartbeat = heartbeat

    def check(self) -> None:
        """Raises CancelledError where the claim is lost or the worker is to end."""
        self._heartbeat.check()

    def commit_of(self, place: HubPlace) -> str | None:
        """As recorded of the job."""
        with self._database.reading() as session:
            return session.get_one(JobRow, self._claim.job_id).commits.get(place.key)

    def resolved(self, place: HubPlace, commit: str) -> str:
        """Records the commit unless one is: no other worker and no retry makes the job of another."""
        with self._database.writing() as session:
            job = claims.locked_job(session, self._claim.job_id)
            if job is None:
                raise ClaimLostError
            job.commits = {place.key: commit, **job.commits}
            return job.commits[place.key]

    @contextmanager
    def watching(self, total_bytes: int, there_bytes: int, artifact_bytes: int) -> Iterator[Advance]:
        """Reserves the disk, that of the artifact too, and records the progress."""
        with self._database.writing() as session:
            job_records.reserve_disk(session, self._claim, artifact_bytes, self._storage, (total_bytes, there_bytes))
        progress = _Progress(self, there_bytes)
        yield progress.advance
        self.record(total_bytes)

    def record(self, fetched_bytes: int) -> None:
        """Records how many of the missing bytes are there. Raises ClaimLostError."""
        with self._database.writing() as session:
            job = claims.require(session, self._claim)
            job.fetched_bytes = fetched_bytes
            job_events.record_progress(session, job)


class _Progress:
    """Counts bytes. Those that an earlier process left count at once, so that room for them is not reserved again."""

    def __init__(self, fetching: JobFetching, there: int) -> None:
        self._fetching = fetching
        self._there = there
        self._done = 0
        self._recorded = time.monotonic()

    def advance(self, count: int) -> None:
        self._fetching.check()
        self._done += count
        if time.monotonic() - self._recorded >= _SECONDS:
            self._recorded = time.monotonic()
            self._fetching.record(max(self._done, self._there))
