"""Jobs and objects as the interface shows them, read from SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session, selectinload

from schemas.interface import (
    Artifact,
    ArtifactManifest,
    ArtifactPart,
    Attempt,
    Job,
    JobReport,
    ManifestPart,
    Page,
    Progress,
    UpgradeJobReport,
    UpgradeRequest,
)
from schemas.minimum_reader import minimum_reader
from schemas.problems import Problem
from schemas.report import ExecutionRecord, ObjectReport, RecipeIdentity, ReportHead, SourceTensorRecord
from schemas.states import JobState, ObjectState
from schemas.tables import AttemptRow, JobRow, ObjectRow, ObjectSourceRow, SourceTensorRow
from schemas.upgrade_report import UpgradeReportHead
from workers.job_progress import progress_of
from workers.upgrade_submission import UpgradeSubmission


def job_document(session: Session, job: JobRow) -> Job:
    """One job."""
    [document] = _documents(session, [job])
    return document


def job_page(
    session: Session, *, state: JobState | None, text: str | None, limit: int, cursor: UUID | None
) -> Page[Job]:
    """Jobs newest first, those with `text` in their name or their recipe's id; the cursor is the id of the last job
    before the page."""
    query = (
        select(JobRow)
        .options(selectinload(JobRow.parts), selectinload(JobRow.attempts))
        .order_by(JobRow.id.desc())
        .limit(limit + 1)
    )
    if state is not None:
        query = query.where(JobRow.state == state)
    if text is not None:
        columns = (JobRow.name, JobRow.recipe_id)
        query = query.where(or_(*(column.icontains(text, autoescape=True) for column in columns)))
    if cursor is not None:
        query = query.where(JobRow.id < cursor)
    jobs = session.scalars(query).all()
    shown = jobs[:limit]
    return Page(items=tuple(_documents(session, shown)), next=str(shown[-1].id) if len(jobs) > limit else None)


def object_page(
    session: Session, job_id: UUID, *, state: ObjectState | None, limit: int, cursor: int | None
) -> Page[ObjectReport]:
    """Objects of a job in payload order; the cursor is the index of the last object before the page."""
    query = select(ObjectRow).where(ObjectRow.job_id == job_id).order_by(ObjectRow.index).limit(limit + 1)
    if state is not None:
        query = query.where(ObjectRow.state == state)
    if cursor is not None:
        query = query.where(ObjectRow.index > cursor)
    rows = session.scalars(query).all()
    shown = rows[:limit]
    return Page(
        items=tuple(_object_reports(session, job_id, shown)),
        next=str(shown[-1].index) if len(rows) > limit else None,
    )


def job_report(session: Session, job: JobRow) -> JobReport | UpgradeJobReport:
    """The report of a job that is ready."""
    report: type[JobReport] | type[UpgradeJobReport] = JobReport if job.upgrade is None else UpgradeJobReport
    rows = session.scalars(select(ObjectRow).where(ObjectRow.job_id == job.id).order_by(ObjectRow.index)).all()
    return report.model_validate(
        {
            **(job.report_head or {}),
            "objects": _object_reports(session, job.id, rows),
            "job": job_document(session, job),
        }
    )


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


def artifact_manifest(job: JobRow, url: Callable[[int], str]) -> ArtifactManifest:
    """All files of the artifact of a job that is ready; `url` says where the one of an index is downloaded."""
    artifact = artifact_of(job)
    kind: type[ReportHead] | type[UpgradeReportHead] = ReportHead if job.upgrade is None else UpgradeReportHead
    head = kind.model_validate(job.report_head)
    return ArtifactManifest(
        artifact_id=head.artifact.artifact_id,
        framing=head.framing,
        minimum_reader=artifact.minimum_reader,
        bytes=artifact.bytes,
        parts=tuple(
            ManifestPart(**dict(part), index=index, url=url(index)) for index, part in enumerate(artifact.parts)
        ),
    )


def _documents(session: Session, jobs: Sequence[JobRow]) -> list[Job]:
    progress = progress_of(session, jobs)
    return [_job(job, progress[job.id]) for job in jobs]


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
    submission = UpgradeSubmission.of(job.upgrade)
    return UpgradeRequest(artifact=submission.artifact, chat_template=submission.chat_template)


def _object_reports(session: Session, job_id: UUID, rows: Sequence[ObjectRow]) -> list[ObjectReport]:
    sources = _source_records(session, job_id, rows)
    return [
        ObjectReport.model_validate(
            {
                **{name: getattr(row, name) for name in ObjectReport.model_fields if name != "sources"},
                "sources": sources.get(row.index, ()),
            }
        )
        for row in rows
    ]


def _source_records(
    session: Session, job_id: UUID, objects: Sequence[ObjectRow]
) -> dict[int, list[SourceTensorRecord]]:
    """The source tensors of objects that are in payload order, by index."""
    if not objects:
        return {}
    rows = session.execute(
        select(ObjectSourceRow.object_index, SourceTensorRow)
        .join(
            SourceTensorRow,
            and_(
                SourceTensorRow.job_id == ObjectSourceRow.job_id,
                SourceTensorRow.source == ObjectSourceRow.source,
                SourceTensorRow.tensor == ObjectSourceRow.tensor,
            ),
        )
        .where(
            ObjectSourceRow.job_id == job_id, ObjectSourceRow.object_index.between(objects[0].index, objects[-1].index)
        )
        .order_by(ObjectSourceRow.object_index, ObjectSourceRow.position)
    )
    records: dict[int, list[SourceTensorRecord]] = {}
    for index, tensor in rows:
        record = SourceTensorRecord(
            source=tensor.source,
            file=tensor.file,
            tensor=tensor.tensor,
            dtype=tensor.dtype,
            shape=tuple(tensor.shape),
            blake3=tensor.blake3,
        )
        records.setdefault(index, []).append(record)
    return records
