"""What is written to SQL of a job as it goes along, each step in one transaction under a claim that is still held."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import insert, or_, select, update
from sqlalchemy.orm import Session

from schemas.errors import OutputError
from schemas.recipe.expanded import ExpandedRecipe
from schemas.report import EncodedObject
from schemas.states import ACTIVE_STATES, JobState, ObjectState
from schemas.tables import ArtifactPartRow, JobRow, ObjectRow, ObjectSourceRow, SourceTensorRow
from workers import claims, job_events, recipe_records
from workers.claims import Claim
from workers.database import database_time, hold_advisory_lock
from workers.engine.container.directory import Framing
from workers.identifiers import time_ordered_id
from workers.job_endings import hold_stored_files
from workers.job_work import PlannedJob, PlannedJobObject, VerifiedWork
from workers.recipe_expansion import Document
from workers.storage import Storage
from workers.submission import Submission
from workers.upgrade_submission import UpgradeSubmission
from workers.verification_records import record_findings

_RESERVING = 0x6E646973
"""The advisory lock of who reserves disk: nobody is to miss what another is about to reserve."""


def conversion_job(submission: Submission, recipe: ExpandedRecipe, *, name: str, queued_by: str = "") -> JobRow:
    """A job to be added. `recipe` is what the submission's document expands to, `queued_by` the name of a token."""
    return JobRow(
        id=time_ordered_id(),
        name=name,
        state=JobState.QUEUED,
        queued_by=queued_by,
        recipe_id=recipe.id,
        recipe_revision=recipe.revision,
        recipe_sha256=recipe.sha256,
        recipe_document_sha256=submission.document.sha256,
        let=dict(submission.let),
        sources=dict(submission.sources),
        resources=dict(submission.resources),
        framing=submission.packaging.framing,
        part_bytes=submission.packaging.part_bytes,
        allow_unexecutable=submission.allow_unexecutable,
        verify=submission.verify,
        device=submission.device,
        lost_claims=0,
    )


def upgrade_job(submission: UpgradeSubmission, *, name: str, queued_by: str = "") -> JobRow:
    """A job to be added that upgrades a file."""
    return JobRow(
        id=time_ordered_id(),
        name=name,
        state=JobState.QUEUED,
        queued_by=queued_by,
        upgrade=submission.values(),
        let={},
        sources={},
        resources={},
        framing=int(Framing.THREE),
        verify="full",
        device="auto",
        lost_claims=0,
    )


def add_jobs(session: Session, jobs: Sequence[JobRow], documents: Iterable[Document]) -> None:
    """Adds jobs, queued, and the documents that they refer to."""
    for _, document in sorted({one.sha256: one for one in documents}.items()):
        recipe_records.hold_document(session, document)
    now = database_time(session)
    for job in jobs:
        job.created_at = now
        job.parts, job.attempts, job.last_event = [], [], 0  # there are none to be looked for
    session.add_all(jobs)
    job_events.record_states(session, jobs)


def reserve_disk(
    session: Session, claim: Claim, file_bytes: int, storage: Storage, fetch: tuple[int, int] = (0, 0)
) -> None:
    """Reserves the disk of one artifact, and of the remote files that are missing for it: `fetch` is their bytes, and
    how many of them are there already.

    What other jobs have reserved and not been given yet counts as taken. Raises OutputError if too little is left.
    """
    job = claims.require(session, claim)
    hold_advisory_lock(session, _RESERVING)
    promised = _promised_bytes(session, storage, but=job.id)
    free, total, there = storage.free_bytes(), *fetch
    if free - promised < file_bytes + total - there:
        fetched = f" and {total - there} for what is fetched" if total else ""
        raise OutputError(
            "disk of the service",
            expected=f"{file_bytes} bytes free for the artifact{fetched}",
            found=f"{free} bytes free, of which {promised} are reserved for other jobs",
        )
    job.file_bytes = file_bytes
    if total:
        job.fetch_bytes, job.fetched_bytes = total, there


def _promised_bytes(session: Session, storage: Storage, *, but: UUID) -> int:
    """What is reserved for all other jobs and not on the disk yet."""
    reserved = select(JobRow.id, JobRow.file_bytes, JobRow.fetch_bytes, JobRow.fetched_bytes).where(
        JobRow.id != but,
        JobRow.state.in_(ACTIVE_STATES),
        or_(JobRow.file_bytes.is_not(None), JobRow.fetch_bytes.is_not(None)),
    )
    return sum(
        max(0, (artifact or 0) - storage.allocated_bytes(job_id)) + (fetch or 0) - (fetched or 0)
        for job_id, artifact, fetch, fetched in session.execute(reserved)
    )


def record_plan(session: Session, claim: Claim, plan: PlannedJob, work_files: str) -> None:
    """Records the planned objects and what they are made of; the job is converting from here on."""
    job = claims.require(session, claim)
    job.framing = plan.framing
    job.fingerprint = plan.fingerprint
    job.execution = {"verdict": plan.execution.verdict, "reasons": list(plan.execution.reasons)}
    job.work_files = work_files
    job.objects_total = len(plan.objects)
    job.payload_bytes = sum(planned.bytes for planned in plan.objects)
    job.file_bytes = plan.file_bytes
    job.fetched_bytes = job.fetch_bytes
    session.execute(insert(ObjectRow), [_object_values(job.id, planned) for planned in plan.objects])
    tensors = {(tensor.source, tensor.tensor): tensor for planned in plan.objects for tensor in planned.sources}
    _insert_all(
        session,
        SourceTensorRow,
        (
            {
                "job_id": job.id,
                "source": tensor.source,
                "tensor": tensor.tensor,
                "file": tensor.file,
                "dtype": tensor.dtype,
                "shape": list(tensor.shape),
            }
            for tensor in tensors.values()
        ),
    )
    _insert_all(
        session,
        ObjectSourceRow,
        (
            {
                "job_id": job.id,
                "object_index": planned.index,
                "position": position,
                "source": tensor.source,
                "tensor": tensor.tensor,
            }
            for planned in plan.objects
            for position, tensor in enumerate(planned.sources)
        ),
    )
    claims.end(session, claim)
    claims.enter_state(session, job, JobState.CONVERTING)


def record_encoded(session: Session, claim: Claim, encoded: Sequence[EncodedObject]) -> None:
    """Records objects whose bytes are durable in the work file."""
    job = claims.require(session, claim)
    now = database_time(session)
    session.execute(
        update(ObjectRow),
        [
            {
                "job_id": job.id,
                "index": done.index,
                "state": ObjectState.ENCODED,
                "claim_id": None,
                "encoder": done.encoder,
                "backend": done.backend,
                "worker": done.worker,
                "blocks": done.blocks,
                "seconds": done.seconds,
                "encoded_at": now,
                "payload_blake3": done.payload_blake3,
                "reciprocals": [reciprocal.model_dump() for reciprocal in done.reciprocals],
            }
            for done in encoded
        ],
    )
    session.execute(
        update(ObjectRow)
        .where(ObjectRow.job_id == job.id, ObjectRow.index.in_([done.index for done in encoded]))
        .values(bytes_done=ObjectRow.bytes)
    )
    digests = [{"job_id": job.id, **digest.model_dump()} for done in encoded for digest in done.source_digests]
    if digests:
        session.execute(update(SourceTensorRow), digests)
    job.lost_claims = 0
    job_events.record_objects(session, job, ObjectState.ENCODED, [done.index for done in encoded])
    job_events.record_progress(session, job)
    claims.end(session, claim)


def record_verified(session: Session, claim: Claim, verified: VerifiedWork) -> None:
    """Records that the whole file passed, and the head of its report. The claim goes on: what is left is to publish."""
    job, head = claims.require(session, claim), verified.head
    hold_stored_files(session, [part.sha256 for part in head.artifact.parts])
    record_findings(session, job.id, verified.objects, verified.histograms)
    session.execute(update(ObjectRow).where(ObjectRow.job_id == job.id).values(bytes_done=ObjectRow.bytes))
    job_events.record_objects(session, job, ObjectState.VERIFIED, [done.index for done in verified.objects])
    job_events.record_progress(session, job)
    job.parts = [
        ArtifactPartRow(index=index, name=part.name, bytes=part.bytes, sha256=part.sha256)
        for index, part in enumerate(head.artifact.parts)
    ]
    job.report_head = head.model_dump(mode="json")


def record_ready(session: Session, claim: Claim) -> None:
    """Records that the verified file is published: the job is done."""
    job = claims.require(session, claim)
    claims.end(session, claim)
    claims.enter_state(session, job, JobState.READY)


def begin_verifying_progress(session: Session, claim: Claim) -> None:
    """Sets the progress of every object back, since verification goes through all of them again."""
    claims.require(session, claim)
    session.execute(update(ObjectRow).where(ObjectRow.job_id == claim.job_id).values(bytes_done=0))


def _object_values(job_id: UUID, planned: PlannedJobObject) -> dict[str, Any]:
    return {
        "job_id": job_id,
        "index": planned.index,
        "name": planned.name,
        "kind": planned.kind,
        "shape": None if planned.shape is None else list(planned.shape),
        "format": planned.format,
        "layout": planned.layout,
        "offset": planned.offset,
        "bytes": planned.bytes,
        "expression": planned.expression,
        "state": ObjectState.PENDING,
    }


def _insert_all(
    session: Session, table: type[SourceTensorRow | ObjectSourceRow], rows: Iterable[Mapping[str, Any]]
) -> None:
    values = [dict(row) for row in rows]
    if values:
        session.execute(insert(table), values)
