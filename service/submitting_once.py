"""`Idempotency-Key`: whoever submits twice under one key, not knowing what became of the first, gets one job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

from fastapi import Depends, Header, Request
from sqlalchemy import select

from schemas.errors import KeyReusedError, NinforgeError
from schemas.interface import Body, Job
from schemas.tables import MAX_KEY, JobRow, SubmissionKeyRow
from service.dependencies import Service, TokenName
from service.new_jobs import KeyTakenError, NewJob, SubmissionKey, UsedKey
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
    job is that one's, whatever would be said to its body now. `prepare` may be called again, each time on some thread.

    Raises KeyReusedError if the earlier body was another, TooManyJobsError, and what `prepare` raises.
    """
    used = None if key is None else key.used_for(body)
    while True:
        try:
            new = await service.call(prepare)
            return await service.add_job(replace(new, key=used))
        except (NinforgeError, KeyTakenError) as error:
            earlier = None if used is None else await service.call(_submitted_before, service, used)
            if earlier is not None:
                return earlier
            if isinstance(error, NinforgeError):
                raise
            # The job that had the key has been removed meanwhile, so the key is free again.


def _submitted_before(service: Service, used: UsedKey) -> Job | None:
    """The job that this key brought about, as it is now. Raises KeyReusedError if it was for another body."""
    with service.database.reading() as session:
        query = select(SubmissionKeyRow.body_sha256, SubmissionKeyRow.job_id)
        row = session.execute(
            query.where(SubmissionKeyRow.owner == used.owner, SubmissionKeyRow.key == used.key)
        ).first()
        if row is None:
            return None
        if row.body_sha256 != used.body_sha256:
            raise KeyReusedError(
                "Idempotency-Key",
                expected=f"the body that was sent under {used.key} before, which became job {row.job_id}",
                found="another body",
            )
        return job_document(session, session.get_one(JobRow, row.job_id))
