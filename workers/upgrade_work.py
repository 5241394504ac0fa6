"""The work of a job that upgrades a file: its objects are copied, each by whoever claims it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from schemas.report import EncodedObject
from workers.engine.encode import inscribe_artifact_id
from workers.engine.steps import Observer
from workers.engine.upgrade.comparison import verify_upgraded
from workers.engine.upgrade.copying import copy_objects, old_sha256
from workers.engine.upgrade.plan import UpgradeOptions, UpgradePlan, plan_upgrade
from workers.engine.upgrade.report import upgrade_report_head, verified_objects
from workers.job_work import VerifiedWork
from workers.remote.fetching import Fetching
from workers.settings import Settings
from workers.storage import Storage
from workers.upgrade_submission import UpgradeSubmission, model_of


class UpgradeWork:
    """A JobWork for what was submitted."""

    def __init__(self, submission: UpgradeSubmission, settings: Settings, storage: Storage) -> None:
        self._submission = submission
        self._settings = settings
        self._storage = storage
        self._plan: UpgradePlan | None = None

    def prepare(self, fetching: Fetching) -> None:
        """Nothing of an upgrade is remote."""

    def planned(self) -> UpgradePlan:
        """The plan, made once."""
        if self._plan is None:
            options = UpgradeOptions(chat_template=self._submission.template(self._settings))
            with self._submission.opened(self._settings, self._storage) as old:
                self._plan = plan_upgrade(old, model_of(old), options)
        return self._plan

    def require_wanted(self) -> None:
        """Every upgrade is: the file is there, whether an engine runs it or not."""

    def encode(self, entry: Path, indices: Sequence[int], worker: str, observer: Observer) -> list[EncodedObject]:
        """Copies objects."""
        plan = self.planned()
        with self._submission.opened(self._settings, self._storage) as old:
            return copy_objects(plan, old, entry, indices, worker=worker, observer=observer)

    def verify(self, entry: Path, observer: Observer) -> VerifiedWork:
        """Writes the id that the old file gives, and holds the new files to it."""
        plan = self.planned()
        with self._submission.opened(self._settings, self._storage) as old:
            digest = old_sha256(plan, old, observer)
            identity = plan.artifact_id(digest)
            inscribe_artifact_id(plan, entry, identity)
            threads = self._settings.threads
            found = verify_upgraded(plan, old, entry, artifact_id=identity, threads=threads, observer=observer)
        head = upgrade_report_head(plan, old_sha256=digest, sha256=found.sha256)
        return VerifiedWork(verified_objects(plan, found), {}, head, found.sha256, found.stamps)
