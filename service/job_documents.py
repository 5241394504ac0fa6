"""Lists of jobs and objects, reports and manifests as the interface shows them, read from SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session, joinedload, selectinload

from schemas.interface import (
    ArtifactManifest,
    Job,
    JobReport,
    ManifestPart,
    ObjectDocument,
    Page,
    UpgradeJobReport,
)
from schemas.report import Check, ObjectReport, ReportHead, SourceTensorRecord
from schemas.states import JobState, ObjectState
from schemas.tables import JobRow, ObjectRow, ObjectSourceRow, SourceTensorRow, VerificationCheckRow
from schemas.upgrade_report import UpgradeReportHead
from service.object_histograms import object_histograms
from workers.database import Database
from workers.job_document import artifact_of, job_document, job_documents


def shown_jobs(database: Database, job_ids: Sequence[UUID]) -> list[Job | None]:
    """Jobs by their ids, in the order of these; None for each that is not there."""
    with_all = (joinedload(JobRow.attempts), selectinload(JobRow.parts))
    query = select(JobRow).where(JobRow.id.in_(job_ids)).options(*with_all)
    with database.reading() as session:
        found = {job.id: job for job in job_documents(session, session.scalars(query).unique().all())}
    return [found.get(job_id) for job_id in job_ids]


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
    return Page(items=tuple(job_documents(session, shown)), next=str(shown[-1].id) if len(jobs) > limit else None)


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


def object_report(session: Session, row: ObjectRow) -> ObjectReport:
    """One object of a job."""
    [report] = _object_reports(session, row.job_id, [row])
    return report


def object_document(session: Session, row: ObjectRow) -> ObjectDocument:
    """One object of a job, with its histograms."""
    return ObjectDocument(
        **dict(object_report(session, row)), source_rms=row.source_rms, histograms=object_histograms(session, row)
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


def report_head(job: JobRow) -> ReportHead | UpgradeReportHead:
    """The report of a job that is ready without its objects."""
    kind: type[ReportHead] | type[UpgradeReportHead] = ReportHead if job.upgrade is None else UpgradeReportHead
    return kind.model_validate(job.report_head)


def artifact_manifest(job: JobRow, url: Callable[[int], str]) -> ArtifactManifest:
    """All files of the artifact of a job that is ready; `url` says where the one of an index is downloaded."""
    artifact = artifact_of(job)
    head = report_head(job)
    return ArtifactManifest(
        artifact_id=head.artifact.artifact_id,
        framing=head.framing,
        minimum_reader=artifact.minimum_reader,
        bytes=artifact.bytes,
        parts=tuple(
            ManifestPart(**dict(part), index=index, url=url(index)) for index, part in enumerate(artifact.parts)
        ),
    )


def _object_reports(session: Session, job_id: UUID, rows: Sequence[ObjectRow]) -> list[ObjectReport]:
    sources, checks = _source_records(session, job_id, rows), _checks(session, job_id, rows)
    columns = ObjectReport.model_fields.keys() - {"sources", "checks"}
    return [
        ObjectReport.model_validate(
            {
                **{name: getattr(row, name) for name in columns},
                "sources": sources.get(row.index, ()),
                "checks": checks.get(row.index, ()),
            }
        )
        for row in rows
    ]


def _checks(session: Session, job_id: UUID, objects: Sequence[ObjectRow]) -> dict[int, list[Check]]:
    """What verification looked at in objects that are in payload order, by index."""
    if not objects:
        return {}
    row = VerificationCheckRow
    found = session.execute(
        select(row.object_index, row.name, row.rows, row.passed)
        .where(row.job_id == job_id, row.object_index.between(objects[0].index, objects[-1].index))
        .order_by(row.object_index, row.position)
    )
    checks: dict[int, list[Check]] = {}
    for index, name, rows, passed in found:
        checks.setdefault(index, []).append(Check(name=name, rows=rows, passed=passed))
    return checks


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
