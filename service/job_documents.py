"""Jobs and objects as the interface shows them, read from SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, and_, case, func, select
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
from workers.database import database_time
from workers.upgrade_submission import UpgradeSubmission


def job_document(session: Session, job: JobRow) -> Job:
    """One job."""
    [document] = _documents(session, [job])
    return document


def job_page(session: Session, *, state: JobState | None, limit: int, cursor: UUID | None) -> Page[Job]:
    """Jobs newest first; the cursor is the id of the last job before the page."""
    query = (
        select(JobRow)
        .options(selectinload(JobRow.parts), selectinload(JobRow.attempts))
        .order_by(JobRow.id.desc())
        .limit(limit + 1)
    )
    if state is not None:
        query = query.where(JobRow.state == state)
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
    done = _done(session, [job.id for job in jobs])
    now = database_time(session)
    return [_job(job, done.get(job.id, (0, 0)), now) for job in jobs]


def _done(session: Session, job_ids: Sequence[UUID]) -> dict[UUID, tuple[int, int]]:
    """Objects and payload bytes done of each job, in its present state."""
    rows = session.execute(
        select(ObjectRow.job_id, func.sum(case((_is_done(), 1), else_=0)), func.sum(ObjectRow.bytes_done))
        .join(JobRow, JobRow.id == ObjectRow.job_id)
        .where(ObjectRow.job_id.in_(job_ids))
        .group_by(ObjectRow.job_id)
    )
    return {job_id: (int(objects), int(payload_bytes)) for job_id, objects, payload_bytes in rows}


def _is_done() -> ColumnElement[bool]:
    undone = (ObjectState.PENDING, ObjectState.ENCODING)
    return and_(ObjectRow.state.not_in(undone), ObjectRow.bytes_done == ObjectRow.bytes)


def _job(job: JobRow, done: tuple[int, int], now: datetime) -> Job:
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
        progress=_progress(job, done, now),
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


def _progress(job: JobRow, done: tuple[int, int], now: datetime) -> Progress:
    objects_done, bytes_done = done
    rate = None
    if job.state in (JobState.CONVERTING, JobState.VERIFYING) and job.stage_started_at is not None and bytes_done:
        rate = bytes_done / max((now - job.stage_started_at).total_seconds(), 1e-3)
    return Progress(
        objects_done=objects_done,
        objects_total=job.objects_total,
        bytes_done=bytes_done,
        bytes_total=job.payload_bytes,
        bytes_per_second=rate,
        seconds_left=None if rate is None or job.payload_bytes is None else (job.payload_bytes - bytes_done) / rate,
    )


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
