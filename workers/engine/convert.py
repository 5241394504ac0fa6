"""One conversion in one process: plan, encode, verify, and only then the files under their names (design.md)."""

from __future__ import annotations

import os
import secrets
import shutil
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from schemas.errors import OutputError
from schemas.report import ConversionReport, VerificationRecord, VerifiedObject
from workers.engine.artifact_identity import artifact_id
from workers.engine.container.writer import artifact_paths
from workers.engine.encode import BLOCK_BYTES, create_work_files, encode_objects, inscribe_artifact_id
from workers.engine.plan import Plan
from workers.engine.publication import publish, refuse_taken
from workers.engine.report import NOT_VERIFIED, conversion_report, source_digests
from workers.engine.steps import Observer
from workers.engine.verify import Coverage, verify_artifact


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
) -> ConversionReport:
    """Makes the artifact of `plan`, its entry at `out`, continuations beside it; `coverage` None leaves it unverified.

    The files are made in a temporary folder beside `out` and appear under their names when they are complete and
    verified, the entry last. On any failure nothing is left behind. Raises OutputError where a name is taken and is not
    to be overwritten, and whatever encoding and verifying raise.
    """
    targets = artifact_paths(out, plan.arrangement)
    refuse_taken(targets, overwrite=overwrite)
    folder = out.with_name(f".{secrets.token_hex(8)}.ninfer.partial")
    _make_folder(folder)
    work = folder / out.name
    try:
        create_work_files(plan, work)
        encoded = encode_objects(
            plan,
            work,
            [planned.index for planned in sorted(plan.objects, key=lambda one: (-one.source_bytes, one.index))],
            threads=threads,
            worker=f"pid {os.getpid()}",
            observer=observers.encoding,
            block_bytes=block_bytes,
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
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return report


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir()
    except OSError as error:
        expected = "a folder in which files can be made"
        raise OutputError(str(folder.parent), expected=expected, found=str(error.strerror)) from None


def _sha256_of(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
