"""Upgrades: submitting one. It then is a job like any other."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus

from fastapi import APIRouter, Response

from schemas.errors import Fault, SourceError, UpgradeError
from schemas.interface import Job, UpgradeRequest
from service.dependencies import CurrentService, Service, TokenName
from service.description import problems
from service.new_jobs import NewJob
from service.routes import jobs
from service.strict_json import StrictJsonRoute
from service.submitting_once import OptionalKey, submit_once
from workers import job_records
from workers.upgrade_submission import UpgradeSubmission, model_of, require_stored, stored_file

router = APIRouter(prefix="/v1/upgrades", tags=["jobs"], route_class=StrictJsonRoute)


@router.post(
    "",
    status_code=HTTPStatus.ACCEPTED,
    responses=problems(HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS),
)
async def submit(
    body: UpgradeRequest, service: CurrentService, token: TokenName, key: OptionalKey, response: Response
) -> Job:
    """Queues the upgrade of a file to framing 3. A file that cannot be upgraded, a job that is not there and a place
    that is not allowed are told at once; what words and resources show is the job's error later."""
    document = await submit_once(service, key, body, partial(_new_job, body, service, token))
    response.headers["Location"] = f"{jobs.router.prefix}/{document.id}"
    return document


def _new_job(body: UpgradeRequest, service: Service, token: str) -> NewJob:
    with service.database.reading() as session:
        submission = UpgradeSubmission(body.artifact, body.chat_template, stored_file(session, body.artifact))
    make = partial(job_records.upgrade_job, submission, name=_checked_name(submission, service), queued_by=token)
    return NewJob(make, token, check=partial(require_stored, submission=submission))


def _checked_name(submission: UpgradeSubmission, service: CurrentService) -> str:
    """The name of the target that the file is of. Raises UpgradeError for what can be told without its payload."""
    at = "/artifact"
    try:
        with submission.opened(service.settings, service.storage) as old:
            inventory = model_of(old).inventory
        at = "/chat_template"
        submission.template(service.settings)
    except SourceError as error:
        raise UpgradeError("upgrade", [Fault(at, str(error))], expected="places below the source roots") from None
    return f"{inventory.model_id}.{inventory.weights_id}"
