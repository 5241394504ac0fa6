"""The report of an upgrade, put together from its plan and what reading the files gave."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256 as sha256_of
from importlib.metadata import version

from schemas.artifact_file_name import artifact_file_name
from schemas.minimum_reader import minimum_reader
from schemas.report import (
    ArtifactRecord,
    ExecutionRecord,
    ObjectReport,
    PartRecord,
    VerificationRecord,
    VerifiedObject,
)
from schemas.upgrade_report import NewTemplate, UpgradedFile, UpgradeReport, UpgradeReportHead
from workers.engine.upgrade.comparison import UpgradeVerification
from workers.engine.upgrade.copying import BACKEND, ENCODER
from workers.engine.upgrade.plan import UpgradePlan
from workers.engine.upgrade.planned_copies import PlannedCopy

COMPARED = VerificationRecord(coverage="full", seed=None)


def upgrade_report(plan: UpgradePlan, *, old_sha256: str, verified: UpgradeVerification) -> UpgradeReport:
    """The whole report of files that passed verification."""
    return UpgradeReport(
        **dict(upgrade_report_head(plan, old_sha256=old_sha256, sha256=verified.sha256)),
        objects=tuple(
            _object(copy, digest) for copy, digest in zip(plan.objects, verified.payload_blake3, strict=True)
        ),
    )


def upgrade_report_head(plan: UpgradePlan, *, old_sha256: str, sha256: Sequence[str]) -> UpgradeReportHead:
    """Everything of the report but its objects. `sha256` are those of the new files, the entry first."""
    identity, arrangement = plan.identity, plan.arrangement
    weights_id = identity.weights_id or ""
    name = artifact_file_name(identity.model_id, weights_id, arrangement.framing)
    return UpgradeReportHead(
        converter=f"ninforge {version('ninforge')}",
        upgraded_from=UpgradedFile(
            framing=int(plan.old.framing),
            model_id=identity.model_id,
            weights_id=weights_id,
            bytes=plan.old.file_bytes,
            sha256=old_sha256,
        ),
        chat_template=_template(plan.options.chat_template),
        model_id=identity.model_id,
        weights_id=weights_id,
        framing=int(arrangement.framing),
        minimum_reader=minimum_reader(arrangement.framing),
        execution=ExecutionRecord(verdict=plan.execution.verdict, reasons=plan.execution.reasons),
        artifact=ArtifactRecord(
            bytes=arrangement.file_bytes,
            sha256=sha256[0],
            artifact_id=plan.artifact_id(old_sha256).hex(),
            directory_sha256=arrangement.directory_sha256,
            payload_offset=arrangement.payload_offset,
            parts=tuple(
                PartRecord(name=one.name or name, bytes=one.file_bytes, sha256=digest)
                for one, digest in zip(arrangement.slices, sha256, strict=True)
            ),
        ),
        verification=COMPARED,
    )


def verified_objects(plan: UpgradePlan, verified: UpgradeVerification) -> tuple[VerifiedObject, ...]:
    """What verification found of each object."""
    return tuple(
        VerifiedObject(index=copy.index, payload_blake3=digest, checks=(copy.check,), error=None, source_rms=None)
        for copy, digest in zip(plan.objects, verified.payload_blake3, strict=True)
    )


def _template(content: bytes | None) -> NewTemplate | None:
    return None if content is None else NewTemplate(bytes=len(content), sha256=sha256_of(content).hexdigest())


def _object(copy: PlannedCopy, payload_blake3: str) -> ObjectReport:
    return ObjectReport(
        index=copy.index,
        name=copy.name,
        kind=copy.kind,
        shape=copy.shape,
        format=copy.format,
        layout=copy.layout,
        offset=copy.offset,
        bytes=copy.bytes,
        state="verified",
        sources=(),
        expression=None,
        encoder=ENCODER,
        backend=BACKEND,
        worker=None,
        blocks=None,
        seconds=None,
        payload_blake3=payload_blake3,
        reciprocals=(),
        error=None,
        checks=(copy.check,),
    )
