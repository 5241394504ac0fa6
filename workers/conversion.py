"""Takes one job from submission to published artifact, as far as claims let this worker.

The engine does the work; here it meets claims, SQL and the service's folders. Every stage that is claimed ends in one
of three ways: its results are recorded, the job fails with a problem document, or the claim is handed back.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from schemas.errors import CancelledError, NinforgeError, SourceError, VerificationError
from schemas.problems import INTERNAL, Problem
from schemas.report import VerifiedObject
from schemas.states import Stage
from schemas.tables import JobRow, ObjectRow
from workers import claims, job_endings, job_records
from workers.claims import Claim, ClaimLostError
from workers.conversion_work import ConversionWork
from workers.database import Database
from workers.devices import CPU
from workers.engine.container.writer import artifact_paths
from workers.engine.encode import create_work_files
from workers.engine.encode.encoders import NATIVE, Encoders
from workers.heartbeat import Heartbeat
from workers.job_fetching import JobFetching
from workers.job_work import JobWork
from workers.public_problems import public_problem
from workers.settings import Settings
from workers.storage import Storage, VerifiedFile
from workers.submission import Submission
from workers.upgrade_submission import UpgradeSubmission
from workers.upgrade_work import UpgradeWork

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """What one worker process works with. `stopping` is set when it is to end soon."""

    name: str
    settings: Settings
    database: Database
    storage: Storage
    stopping: threading.Event
    encoders: Encoders = NATIVE

    @property
    def lease(self) -> timedelta:
        return timedelta(seconds=self.settings.lease_seconds)


class Conversion:
    """One worker's part in one job, for the time of one message."""

    def __init__(self, context: WorkerContext, job_id: UUID) -> None:
        self._context = context
        self._job_id = job_id
        self._work: JobWork | None = None
        self._has_worked = False

    def advance(self, is_enough: Callable[[], bool] = lambda: False) -> bool:
        """Plans the job, encodes objects as long as some are pending, verifies and publishes: whatever is due. Asked
        after each batch of objects, `is_enough` leaves the pending ones for another time.

        Returns whether anything was due. Faults of recipe, sources or program end the job in failure; those of the
        database are raised, and the job goes on when its claim has expired.
        """
        self._plan_job()
        self._encode_objects(is_enough)
        self._verify_job()
        return self._has_worked

    def _plan_job(self) -> None:
        claim = self._claim_job(Stage.PLANNING)
        if claim is None:
            return
        storage, database = self._context.storage, self._context.database
        with self._working_under(claim) as heartbeat:
            work = self._checked_work(claim, heartbeat)
            work.require_wanted()
            plan = work.planned()
            storage.discard_superseded(self._job_id, claim.id)
            with database.writing() as session:
                job_records.reserve_disk(session, claim, plan.file_bytes, storage)
            work_files = storage.new_work_files(self._job_id, claim.id)
            create_work_files(plan, storage.work_entry(self._job_id, work_files))
            try:
                with database.writing() as session:
                    job_records.record_plan(session, claim, plan, work_files)
            except ClaimLostError:
                storage.discard_work_files(self._job_id, work_files)
                raise

    def _encode_objects(self, is_enough: Callable[[], bool]) -> None:
        while not self._context.stopping.is_set() and (claim := self._claim_objects()):
            with self._working_under(claim) as heartbeat:
                entry = self._work_entry(claim)
                work = self._checked_work(claim, heartbeat)
                encoded = work.encode(entry, claim.indices, self._context.name, heartbeat)
                with self._context.database.writing() as session:
                    job_records.record_encoded(session, claim, encoded)
            if is_enough():
                return

    def _verify_job(self) -> None:
        claim = None if self._context.stopping.is_set() else self._claim_job(Stage.VERIFYING)
        if claim is None:
            return
        with self._working_under(claim) as heartbeat:
            verified: Sequence[VerifiedFile] = ()
            if self._work_entry(claim).exists() or not self._is_published():
                verified = self._verify_files(claim, heartbeat)
            self._publish(claim, verified)
            self._context.storage.discard_superseded(self._job_id, claim.id)
            logger.info("job %s is ready", self._job_id)

    def _publish(self, claim: Claim, verified: Sequence[VerifiedFile]) -> None:
        """Publishes files, none if they have been already, and records the job as ready."""
        context = self._context
        try:
            if verified:
                context.storage.publish(verified)
            with context.database.writing() as session:
                job_records.record_ready(session, claim)
        except Exception:
            # A job that has ended meanwhile refers to none of them.
            job_endings.discard_unreferenced(context.database, context.storage, [file.sha256 for file in verified])
            raise

    def _is_published(self) -> bool:
        with self._context.database.reading() as session:
            parts = session.get_one(JobRow, self._job_id).parts
            return bool(parts) and self._context.storage.holds([part.sha256 for part in parts])

    def _verify_files(self, claim: Claim, heartbeat: Heartbeat) -> list[VerifiedFile]:
        """Verifies all work files of the job and records it."""
        with self._context.database.writing() as session:
            job_records.begin_verifying_progress(session, claim)
        work, entry = self._checked_work(claim, heartbeat), self._work_entry(claim)
        verified = work.verify(entry, heartbeat)
        self._check_digests(verified.objects)
        with self._context.database.writing() as session:
            job_records.record_verified(session, claim, verified)
        files = zip(artifact_paths(entry, work.planned().arrangement), verified.sha256, verified.stamps, strict=True)
        return [VerifiedFile(path, sha256, stamp) for path, sha256, stamp in files]

    def _check_digests(self, verified: Sequence[VerifiedObject]) -> None:
        """Raises VerificationError if a payload is not the one that its encoder recorded."""
        with self._context.database.reading() as session:
            recorded = session.execute(
                select(ObjectRow.name, ObjectRow.payload_blake3)
                .where(ObjectRow.job_id == self._job_id)
                .order_by(ObjectRow.index)
            ).all()
        for (name, digest), found in zip(recorded, verified, strict=True):
            if found.payload_blake3 != digest:
                raise VerificationError(
                    f"object {name}",
                    expected=f"a payload with the BLAKE3 that was recorded when it was encoded, {digest}",
                    found=found.payload_blake3,
                )

    def _checked_work(self, claim: Claim, heartbeat: Heartbeat) -> JobWork:
        """The work of the job, with its sources there. Raises SourceError if what it is made of is no longer what it
        was first planned with."""
        if self._work is None:
            context = self._context
            with context.database.reading() as session:
                job = session.get_one(JobRow, self._job_id)
                work: JobWork
                if job.upgrade is None:
                    encoders = NATIVE if job.device == CPU else context.encoders
                    work = ConversionWork(
                        Submission.of(job), self._job_id, context.settings, context.database, encoders
                    )
                else:
                    work = UpgradeWork(UpgradeSubmission.of(job.upgrade), context.settings, context.storage)
            work.prepare(JobFetching(context.database, context.storage, claim, heartbeat))
            if job.fingerprint not in (None, work.planned().fingerprint):
                raise SourceError("sources", expected="the files that the job was planned with", found="changed ones")
            self._work = work
        return self._work

    def _work_entry(self, claim: Claim) -> Path:
        if claim.work_files is None:
            raise RuntimeError(f"job {self._job_id} has been planned without work files")
        return self._context.storage.work_entry(self._job_id, claim.work_files)

    def _claim_job(self, stage: Stage) -> Claim | None:
        with self._context.database.writing() as session:
            return claims.claim_job(session, self._job_id, stage, worker=self._context.name, lease=self._context.lease)

    def _claim_objects(self) -> Claim | None:
        with self._context.database.writing() as session:
            return claims.claim_objects(
                session,
                self._job_id,
                worker=self._context.name,
                lease=self._context.lease,
                max_bytes=self._context.settings.batch_bytes,
            )

    @contextmanager
    def _working_under(self, claim: Claim) -> Iterator[Heartbeat]:
        """Keeps the claim alive, and settles what becomes of it and of the job when the work raises."""
        context = self._context
        self._has_worked = True
        try:
            with Heartbeat(context.database, claim, context.lease, context.stopping) as heartbeat:
                yield heartbeat
        except (CancelledError, ClaimLostError):
            logger.info("job %s: handing back claim %d (%s)", self._job_id, claim.id, claim.stage)
            self._work = (
                None  # the job may be planned anew, of other sources, before this worker claims some more of it
            )
            with context.database.writing() as session:
                claims.hand_back(session, claim)
        except OperationalError:
            raise
        except NinforgeError as error:
            if self._fail(claim, public_problem(error, context.settings)):
                logger.warning("job %s fails: %s", self._job_id, error)
        except Exception:
            if self._fail(claim, INTERNAL):
                logger.exception("job %s fails for an unexpected reason", self._job_id)

    def _fail(self, claim: Claim, problem: Problem) -> bool:
        """Whether the job fails with this: not if the claim is lost. The files of a job that has ended are gone, so
        that whoever is still at it meets all kinds of faults."""
        database = self._context.database
        try:
            with database.writing() as session:
                leftovers = job_endings.record_failure(session, claim, problem)
        except ClaimLostError:
            logger.info("job %s: claim %d (%s) is lost", self._job_id, claim.id, claim.stage)
            self._work = None
            return False
        job_endings.discard(database, self._context.storage, leftovers)
        return True
