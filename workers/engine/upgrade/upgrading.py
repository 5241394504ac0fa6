"""One upgrade in one process: plan, copy, verify, and only then the files under their names (container-v3.md, 14)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from schemas.errors import OutputError
from schemas.upgrade_report import UpgradeReport
from workers.engine.container.reader import ArtifactReader
from workers.engine.container.writer import artifact_paths
from workers.engine.publication import publish, refuse_taken
from workers.engine.steps import Observer
from workers.engine.upgrade.comparison import verify_upgraded
from workers.engine.upgrade.copying import write_upgraded
from workers.engine.upgrade.plan import UpgradePlan
from workers.engine.upgrade.report import upgrade_report
from workers.engine.work_folder import work_folder


@dataclass(frozen=True, slots=True)
class UpgradeObservers:
    """Who is told of the progress of each phase."""

    copying: Observer
    verifying: Observer


def upgrade(
    plan: UpgradePlan,
    old: ArtifactReader,
    out: Path,
    *,
    threads: int,
    observers: UpgradeObservers,
    overwrite: bool = False,
) -> UpgradeReport:
    """Makes the files of `plan`, the entry at `out`, of the file that it was planned of, which stays as it is.

    They are made in a temporary folder beside `out` and appear under their names when they are complete and verified,
    the entry last. On any failure nothing is left behind. Raises OutputError where a name is the old file's, or is
    taken and not to be overwritten, and whatever copying and verifying raise.
    """
    targets = artifact_paths(out, plan.arrangement)
    refuse_taken(targets, overwrite=overwrite)
    _refuse_old(targets, old.path)
    with work_folder(out) as folder:
        work = folder / out.name
        old_sha256 = write_upgraded(plan, old, work, observers.copying)
        verified = verify_upgraded(
            plan,
            old,
            work,
            artifact_id=plan.artifact_id(old_sha256),
            threads=threads,
            observer=observers.verifying,
        )
        publish(artifact_paths(work, plan.arrangement), targets, overwrite=overwrite)
    return upgrade_report(plan, old_sha256=old_sha256, verified=verified)


def _refuse_old(targets: Sequence[Path], old: Path) -> None:
    for target in targets:
        if target.exists() and target.samefile(old):
            raise OutputError(str(target), expected="another file than the one to upgrade", found="that file")
