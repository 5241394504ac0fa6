"""Jobs that requests ask for, added to the database with their idempotency keys, some requests' at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from typing import Any

from sqlalchemy.orm import Session

from schemas.interface import Body, Job
from schemas.tables import JobRow, SubmissionKeyRow
from workers import job_limits, job_records
from workers.database import Database, insert_if_new
from workers.job_document import job_documents
from workers.recipe_expansion import Document


class KeyTakenError(Exception):
    """Of jobs that were to be added, one has a key under which there is a job, or under which another was to be."""


@dataclass(frozen=True, slots=True)
class UsedKey:
    """The key that a request brought, and what tells its body apart. Each token, the owner here, has its own keys."""

    owner: str
    key: str
    body_sha256: str


@dataclass(frozen=True, slots=True)
class SubmissionKey:
    """The key that a request to a path brought. Keys are for all that can be submitted."""

    owner: str
    key: str
    path: str

    def used_for(self, body: Body) -> UsedKey:
        """With this body: white space and the order of members make no other."""
        text = json.dumps([self.path, body.model_dump(mode="json")], sort_keys=True)
        return UsedKey(self.owner, self.key, sha256(text.encode()).hexdigest())


@dataclass(frozen=True, slots=True)
class NewJob:
    """What a token asks for: `make` makes its row, which refers to `document`, for each try to add it. `check` looks at
    what it depends on in the transaction that adds it."""

    make: Callable[[], JobRow]
    token: str
    document: Document | None = None
    check: Callable[[Session], None] | None = None
    key: UsedKey | None = None


def add_new_jobs(database: Database, most: int, new: Sequence[NewJob]) -> list[Job]:
    """Adds jobs, queued, in one transaction: all of them or none. A token may then have `most` active jobs.

    Raises KeyTakenError for a key that was used before, TooManyJobsError, and what checks raise. What others may wait
    for is locked in the same order whatever comes together: checked files, documents, keys, tokens.
    """
    with database.writing() as session:
        for one in new:
            if one.check is not None:
                one.check(session)
        jobs = [one.make() for one in new]
        job_records.add_jobs(session, jobs, [one.document for one in new if one.document is not None])
        _add_keys(session, new, jobs)
        documents = job_documents(session, jobs)
        # Last, since others of these tokens wait from here to the end of the transaction.
        by_token = sorted(zip(new, jobs, strict=True), key=lambda pair: pair[0].token)
        for token, pairs in groupby(by_token, lambda pair: pair[0].token):
            job_limits.admit(session, [job for _, job in pairs], token, most)
    return documents


def _add_keys(session: Session, new: Sequence[NewJob], jobs: Sequence[JobRow]) -> None:
    rows: list[dict[str, Any]] = [
        {"owner": one.key.owner, "key": one.key.key, "body_sha256": one.key.body_sha256, "job_id": job.id}
        for one, job in zip(new, jobs, strict=True)
        if one.key is not None
    ]
    if rows:
        rows.sort(key=lambda row: (row["owner"], row["key"]))
        adding = insert_if_new(session, SubmissionKeyRow).returning(SubmissionKeyRow.key)
        if len(session.scalars(adding, rows).all()) < len(rows):
            raise KeyTakenError
