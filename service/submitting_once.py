"""`Idempotency-Key`: whoever submits twice under one key, not knowing what became of the first, gets one job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Header, Request
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from starlette.concurrency import run_in_threadpool

from schemas.errors import KeyReusedError, NinforgeError
from schemas.interface import Body, Job
from schemas.tables import MAX_KEY, JobRow, SubmissionKeyRow
from service.dependencies import Service, TokenName
from service.new_jobs import NewJob, SubmissionKey
from workers.job_document import job_document


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


async def submit_once(service: Service, key: SubmissionKey | None, body: Body, prepare: Callable[[], NewJob]) -> Job:
    """Adds the job that `prepare` gives, with its key, and wakes a worker. If a request with this key came before, the
    job is that one's, whatever would be said to its body now.

    Raises KeyReusedError if the earlier body was another, TooManyJobsError, and what `prepare` raises.
    """
    while True:
        try:
            return await service.add_job(await service.prepared(prepare))
        except (NinforgeError, IntegrityError) as error:
            earlier = await run_in_threadpool(_submitted_before, service, key, body)
            if earlier is not None:
                return earlier
            if not _is_of_used_key(error):
                raise
            # The job that had the key has been removed meanwhile, so the key is free again.


def _is_of_used_key(error: NinforgeError | IntegrityError) -> bool:
    """Databases name the table in what they say."""
    return isinstance(error, IntegrityError) and SubmissionKeyRow.__tablename__ in str(error.orig)


def _submitted_before(service: Service, key: SubmissionKey | None, body: Body) -> Job | None:
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
