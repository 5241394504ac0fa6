"""One conversion in one process: plan, encode, verify, and only then the files under their names (design.md)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from schemas.report import ConversionReport, VerificationRecord, VerifiedObject
from workers.engine.artifact_identity import artifact_id
from workers.engine.container.writer import artifact_paths
from workers.engine.encode import BLOCK_BYTES, create_work_files, encode_objects, inscribe_artifact_id
from workers.engine.encode.encoders import NATIVE, Encoders
from workers.engine.plan import Plan
from workers.engine.publication import publish, refuse_taken
from workers.engine.report import NOT_VERIFIED, conversion_report, source_digests
from workers.engine.steps import Observer
from workers.engine.verify import Coverage, verify_artifact
from workers.engine.work_folder import work_folder


@dataclass(frozen=True, slots=True)
class Observers:
    """Who is told of the progress of each phase."""

    encoding: Observer
    verifying: Observer


def convert(
    plan: Plan,
    out: Path,
    *,
    coverage: Coverage | None,
    threads: int,
    observers: Observers,
    overwrite: bool = False,
    block_bytes: int = BLOCK_BYTES,
    encoders: Encoders = NATIVE,
) -> ConversionReport:
    """Makes the artifact of `plan`, its entry at `out`, continuations beside it; `coverage` None leaves it unverified.

    The files are made in a temporary folder beside `out` and appear under their names when they are complete and
    verified, the entry last. On any failure nothing is left behind. Raises OutputError where a name is taken and is not
    to be overwritten, and whatever encoding and verifying raise.
    """
    targets = artifact_paths(out, plan.arrangement)
    refuse_taken(targets, overwrite=overwrite)
    with work_folder(out) as folder:
        work = folder / out.name
        create_work_files(plan, work)
        encoded = encode_objects(
            plan,
            work,
            [planned.index for planned in sorted(plan.objects, key=lambda one: (-one.source_bytes, one.index))],
            threads=threads,
            worker=f"pid {os.getpid()}",
            observer=observers.encoding,
            block_bytes=block_bytes,
            encoders=encoders,
        )
        identity = artifact_id(plan, source_digests(encoded))
        inscribe_artifact_id(plan, work, identity)
        verified: tuple[VerifiedObject, ...] = ()
        if coverage is None:
            digests, record = tuple(map(_sha256_of, artifact_paths(work, plan.arrangement))), NOT_VERIFIED
        else:
            verification = verify_artifact(
                plan,
                work,
                coverage=coverage,
                threads=threads,
                observer=observers.verifying,
                artifact_id=identity,
                block_bytes=block_bytes,
            )
            verified, digests = verification.objects, verification.sha256
            record = VerificationRecord(coverage=coverage, seed=verification.seed)
        report = conversion_report(plan, encoded, verified, sha256=digests, artifact_id=identity, verification=record)
        publish(artifact_paths(work, plan.arrangement), targets, overwrite=overwrite)
    return report


def _sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
