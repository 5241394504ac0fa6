"""One conversion in one process: plan, encode, verify, and only then the file under its name (design.md)."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from schemas.errors import OutputError
from schemas.report import ConversionReport, VerificationRecord, VerifiedObject
from workers.engine.encode import BLOCK_BYTES, create_work_file, encode_objects
from workers.engine.plan import Plan
from workers.engine.report import NOT_VERIFIED, conversion_report
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
    """Makes the artifact of `plan` at `out`; `coverage` None leaves it unverified.

    The file is made under a temporary name in the same folder and appears at `out` when it is complete and verified. On
    any failure nothing is left behind. Raises OutputError where `out` exists and is not to be overwritten, and whatever
    encoding and verifying raise.
    """
    _refuse_taken(out, overwrite)
    work = out.with_name(f".{secrets.token_hex(8)}.ninfer.partial")
    try:
        create_work_file(plan, work)
        encoded = encode_objects(
            plan,
            work,
            [planned.index for planned in sorted(plan.objects, key=lambda one: (-one.source_bytes, one.index))],
            threads=threads,
            worker=f"pid {os.getpid()}",
            observer=observers.encoding,
            block_bytes=block_bytes,
        )
        verified: tuple[VerifiedObject, ...] = ()
        if coverage is None:
            digest, record = _sha256_of(work), NOT_VERIFIED
        else:
            verification = verify_artifact(
                plan, work, coverage=coverage, threads=threads, observer=observers.verifying, block_bytes=block_bytes
            )
            verified, digest = verification.objects, verification.sha256
            record = VerificationRecord(coverage=coverage, seed=verification.seed)
        report = conversion_report(plan, encoded, verified, sha256=digest, verification=record)
        _publish(work, out, overwrite)
    finally:
        with suppress(FileNotFoundError):
            work.unlink()
    return report


def _refuse_taken(out: Path, overwrite: bool) -> None:
    if out.is_dir():
        raise OutputError(str(out), expected="a file name", found="a folder")
    if not overwrite and os.path.lexists(out):
        raise OutputError(str(out), expected="a name that is not taken (or --force)", found="an existing file")
    if not out.parent.is_dir():
        raise OutputError(str(out), expected="a folder that exists", found=f"no folder {out.parent}")


def _publish(work: Path, out: Path, overwrite: bool) -> None:
    """Gives the finished file its name, in one step and durably; a file that took the name meanwhile is kept."""
    try:
        if not overwrite:
            with _links_optional():
                out.hardlink_to(work)
                work.unlink()
        if work.exists():
            _refuse_taken(out, overwrite)
            work.replace(out)
    except FileExistsError:
        raise OutputError(
            str(out), expected="a name that is not taken (or --force)", found="an existing file"
        ) from None
    except OSError as error:
        expected = "a name that can be given to the finished file"
        raise OutputError(str(out), expected=expected, found=str(error)) from None
    folder = os.open(out.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def _links_optional() -> Iterator[None]:
    """Passes over file systems without hard links, where taking a name and refusing a taken one are two steps."""
    try:
        yield
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK}:
            raise


def _sha256_of(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
