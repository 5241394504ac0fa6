"""`Idempotency-Key`: whoever submits twice under one key, not knowing what became of the first, gets one job."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated

from fastapi import Depends, Header, Request
from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from schemas.errors import KeyReusedError, TooManyJobsError
from schemas.interface import Body, Job
from schemas.tables import MAX_KEY, JobRow, SubmissionKeyRow
from service.dependencies import Service, TokenName
from workers import job_limits
from workers.application import wake
from workers.devices import queue_of
from workers.job_document import job_document


@dataclass(frozen=True, slots=True)
class SubmissionKey:
    """The key that a request brought. Each token has keys of its own; they are for all that can be submitted."""

    owner: str
    key: str
    path: str

    def body_sha256(self, body: Body) -> str:
        """What tells bodies apart: neither white space nor the order of members does."""
        text = json.dumps([self.path, body.model_dump(mode="json")], sort_keys=True)
        return sha256(text.encode()).hexdigest()


async def _submission_key(
    request: Request,
    token: TokenName,
    idempotency_key: Annotated[
        str | None,
        Header(
            min_length=1,
            max_length=MAX_KEY,
            pattern="^[!-~]+$",
            description="The same body under the same key is one job, however often it is sent.",
        ),
    ] = None,
) -> SubmissionKey | None:
    if idempotency_key is None:
        return None
    return SubmissionKey(token, idempotency_key, request.url.path)


OptionalKey = Annotated[SubmissionKey | None, Depends(_submission_key)]


def submitted_before(service: Service, key: SubmissionKey | None, body: Body) -> Job | None:
    """The job that this key brought about, as it is now. Raises KeyReusedError if it was for another body."""
    if key is None:
        return None
    with service.database.reading() as session:
        query = select(SubmissionKeyRow.body_sha256, SubmissionKeyRow.job_id)
        row = session.execute(query.where(SubmissionKeyRow.owner == key.owner, SubmissionKeyRow.key == key.key)).first()
        if row is None:
            return None
        if row.body_sha256 != key.body_sha256(body):
            raise KeyReusedError(
                "Idempotency-Key",
                expected=f"the body that was sent under {key.key} before, which became job {row.job_id}",
                found="another body",
            )
        return job_document(session, session.get_one(JobRow, row.job_id))


def submit_once(
    service: Service, token: str, key: SubmissionKey | None, body: Body, add: Callable[[Session], JobRow]
) -> Job:
    """Adds a job of a token with its key, in one transaction, and wakes a worker. If another request with this key was
    faster, the job is the other's. Raises TooManyJobsError."""
    try:
        with service.database.writing() as session:
            job = add(session)
            if key is not None:
                digest = key.body_sha256(body)
                row = {"owner": key.owner, "key": key.key, "body_sha256": digest, "job_id": job.id}
                session.execute(insert(SubmissionKeyRow), row)
            document = job_document(session, job)
            # Last, since others of this token wait from here to the end of the transaction.
            job_limits.admit(session, job, token, service.settings.max_active_jobs_per_token)
    except (IntegrityError, TooManyJobsError):  # the other may have taken the last place
        earlier = submitted_before(service, key, body)
        if earlier is None:
            raise
        return earlier
    wake(service.queue, document.id, queue_of(document.device))
    return document
