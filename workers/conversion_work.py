"""The work of a job that converts a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from sqlalchemy import select

from schemas.report import EncodedObject, FetchedRecord, VerificationRecord
from schemas.tables import SourceTensorRow
from workers.database import Database
from workers.engine.artifact_identity import artifact_id
from workers.engine.encode import encode_objects, inscribe_artifact_id
from workers.engine.encode.encoders import Encoders
from workers.engine.execution import require_executable
from workers.engine.plan import Plan
from workers.engine.planned_objects import SourceTensor
from workers.engine.report import report_head
from workers.engine.steps import Observer
from workers.engine.verify import Coverage, verify_artifact
from workers.job_work import VerifiedWork
from workers.remote.fetched_records import fetched_records
from workers.remote.fetching import Fetching
from workers.settings import Settings
from workers.submission import Submission, plan_fetched


class ConversionWork:
    """A JobWork for what was submitted."""

    def __init__(
        self, submission: Submission, job_id: UUID, settings: Settings, database: Database, encoders: Encoders
    ) -> None:
        self._submission = submission
        self._job_id = job_id
        self._settings = settings
        self._database = database
        self._encoders = encoders
        self._plan: Plan | None = None
        self._fetched: tuple[FetchedRecord, ...] = ()

    def prepare(self, fetching: Fetching) -> None:
        """Fetches what is remote and plans. What planning refuses, it refuses before the weights are fetched."""
        self._plan = plan_fetched(self._submission, self._settings, fetching, self._require_wanted)
        self._fetched = fetched_records(self._submission.sources, self._submission.resources, fetching.commit_of)

    def planned(self) -> Plan:
        """The plan, once the work is prepared."""
        if self._plan is None:
            raise RuntimeError(f"job {self._job_id} is to be prepared first")
        return self._plan

    def require_wanted(self) -> None:
        """Raises PlanError for an artifact that no engine runs, unless one is wanted."""
        self._require_wanted(self.planned())

    def _require_wanted(self, plan: Plan) -> None:
        if not self._submission.allow_unexecutable:
            require_executable(plan.recipe, plan.execution)

    def encode(self, entry: Path, indices: Sequence[int], worker: str, observer: Observer) -> list[EncodedObject]:
        """Encodes objects."""
        return encode_objects(
            self.planned(),
            entry,
            indices,
            threads=self._settings.threads,
            worker=worker,
            observer=observer,
            encoders=self._encoders,
        )

    def verify(self, entry: Path, observer: Observer) -> VerifiedWork:
        """Writes the id that the encoded sources give, and holds all words to recipe and sources."""
        plan, coverage = self.planned(), Coverage(self._submission.verify)
        identity = artifact_id(plan, self._source_digests())
        inscribe_artifact_id(plan, entry, identity)
        verification = verify_artifact(
            plan,
            entry,
            coverage=coverage,
            threads=self._settings.threads,
            observer=observer,
            artifact_id=identity,
            histograms=True,
        )
        record = VerificationRecord(coverage=coverage, seed=verification.seed)
        made = report_head(plan, sha256=verification.sha256, artifact_id=identity, verification=record)
        head = made.model_copy(update={"fetched": self._fetched})
        return VerifiedWork(
            verification.objects, verification.histograms, head, verification.sha256, verification.stamps
        )

    def _source_digests(self) -> dict[SourceTensor, str]:
        """BLAKE3 of every source tensor, as encoding recorded it."""
        with self._database.reading() as session:
            rows = session.scalars(select(SourceTensorRow).where(SourceTensorRow.job_id == self._job_id)).all()
        return {(row.source, row.tensor): row.blake3 for row in rows if row.blake3 is not None}
