"""A job as the interface shows it, read from SQL."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from schemas.interface import Artifact, ArtifactPart, Attempt, Job, Progress, UpgradeRequest
from schemas.minimum_reader import minimum_reader
from schemas.problems import Problem
from schemas.report import ExecutionRecord, RecipeIdentity
from schemas.states import JobState
from schemas.tables import AttemptRow, JobRow
from workers.job_progress import progress_of
from workers.remote.fetched_records import fetched_records


def job_document(session: Session, job: JobRow) -> Job:
    """One job."""
    [document] = job_documents(session, [job])
    return document


def job_documents(session: Session, jobs: Sequence[JobRow]) -> list[Job]:
    """Several jobs, in their order."""
    progress = progress_of(session, jobs)
    return [_job(job, progress[job.id]) for job in jobs]


def artifact_of(job: JobRow) -> Artifact:
    """The artifact of a job that is ready."""
    if job.state is not JobState.READY or not job.parts or job.framing is None:
        raise ValueError(f"expected a job that is ready, found {job.id} in state {job.state}")
    parts = tuple(ArtifactPart(name=one.name, bytes=one.bytes, sha256=one.sha256) for one in job.parts)
    return Artifact(
        bytes=sum(part.bytes for part in parts),
        sha256=parts[0].sha256,
        minimum_reader=minimum_reader(job.framing),
        parts=parts,
    )


def _job(job: JobRow, progress: Progress) -> Job:
    return Job(
        id=job.id,
        name=job.name,
        state=job.state,
        recipe=_recipe(job),
        upgrade=_upgrade(job),
        framing="auto" if job.framing is None else job.framing,
        execution=None if job.execution is None else ExecutionRecord.model_validate(job.execution),
        verify=job.verify,
        device=job.device,
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        progress=progress,
        error=None if job.error is None else Problem.model_validate(job.error),
        artifact=artifact_of(job) if job.state is JobState.READY else None,
        pinned=job.pinned,
        fetched=fetched_records(job.sources, job.resources, lambda place: job.commits.get(place.key)),
        attempts=tuple(_attempt(attempt) for attempt in job.attempts),
    )


def _attempt(row: AttemptRow) -> Attempt:
    return Attempt(
        state=row.state,
        started_at=row.started_at,
        finished_at=row.finished_at,
        error=None if row.error is None else Problem.model_validate(row.error),
    )


def _recipe(job: JobRow) -> RecipeIdentity | None:
    if job.recipe_id is None or job.recipe_revision is None or job.recipe_sha256 is None:
        return None
    return RecipeIdentity(id=job.recipe_id, revision=job.recipe_revision, sha256=job.recipe_sha256)


def _upgrade(job: JobRow) -> UpgradeRequest | None:
    if job.upgrade is None:
        return None
    return UpgradeRequest(artifact=job.upgrade["artifact"], chat_template=job.upgrade["chat_template"])
