"""A service's folder and database with jobs on them, and workers that may die at any moment."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import update
from sqlalchemy.orm import selectinload

from schemas.tables import ClaimRow, JobRow
from tests.small_job import recipe_document, write_checkpoint
from workers import job_records
from workers.conversion import Conversion, WorkerContext
from workers.database import Database, database_time
from workers.engine.packaging import Packaging
from workers.recipe_expansion import Document
from workers.settings import Settings
from workers.storage import Storage
from workers.submission import Submission
from workers.sweeper import sweep

LAYERS = 8
LONG_AGO = timedelta(seconds=-1)


class Killed(BaseException):
    """What a test raises where a worker is to end there and then: no handler of the program catches it."""


@dataclass(frozen=True)
class Site:
    """A data folder with a checkpoint in its sources, and the database beside it."""

    settings: Settings
    database: Database
    storage: Storage

    def worker(self, name: str = "a") -> WorkerContext:
        return WorkerContext(name, self.settings, self.database, self.storage, threading.Event())

    def submit(self, **members: Any) -> UUID:
        document = Document.of(members.pop("document", recipe_document()))
        plain = Submission(document, {}, {"base": "small"}, {}, Packaging(), False, "full", "auto")
        submission = replace(plain, **members)
        job = job_records.conversion_job(submission, submission.expand(), name="test")
        with self.database.writing() as session:
            job_records.add_jobs(session, [job], [submission.document])
            return job.id

    def job(self, job_id: UUID) -> JobRow:
        with self.database.reading() as session:
            return session.get_one(JobRow, job_id, options=[selectinload(JobRow.parts)])

    def advance(self, job_id: UUID, worker: WorkerContext | None = None) -> JobRow:
        Conversion(worker or self.worker(), job_id).advance()
        return self.job(job_id)

    def die(self, job_id: UUID) -> None:
        """A worker that is killed where a test raises Killed, and the time until its claims expire."""
        with pytest.raises(Killed):
            self.advance(job_id)
        self.expire_claims()

    def expire_claims(self) -> None:
        with self.database.writing() as session:
            moment = database_time(session) + LONG_AGO
            session.execute(update(ClaimRow).values(expires_at=moment))
        sweep(self.database, self.storage)

    def work_files(self) -> list[str]:
        return sorted(path.name for path in (self.settings.data / "work").rglob("*") if not path.is_dir())

    def artifacts(self) -> dict[str, bytes]:
        return {path.stem: path.read_bytes() for path in (self.settings.data / "artifacts").iterdir()}


def make_site(data: Path, database: Database) -> Site:
    settings = Settings(data=data, threads=2, batch_bytes=60_000)
    storage = Storage(settings.data)
    storage.prepare()
    write_checkpoint(settings.data / "sources" / "small", layers=LAYERS)
    return Site(settings, database, storage)
