"""The report of an upgrade, put together from its plan and what reading the files gave."""

from __future__ import annotations

from hashlib import sha256
from importlib.metadata import version

from schemas.minimum_reader import artifact_file_name, minimum_reader
from schemas.report import ArtifactRecord, ExecutionRecord, PartRecord, VerificationRecord
from schemas.upgrade_report import NewTemplate, UpgradedFile, UpgradedObject, UpgradeReport
from workers.engine.container.directory import StoredObject, TensorObject
from workers.engine.container.placement import PlacedObject
from workers.engine.upgrade.plan import UpgradePlan
from workers.engine.verify.whole_file import WholeArtifact

COMPARED = VerificationRecord(coverage="full", seed=None)


def upgrade_report(plan: UpgradePlan, *, old_sha256: str, whole: WholeArtifact) -> UpgradeReport:
    """The whole report. `whole` is of the new files."""
    identity, arrangement = plan.identity, plan.arrangement
    weights_id = identity.weights_id or ""
    name = artifact_file_name(f"{identity.model_id}.{weights_id}", arrangement.framing)
    return UpgradeReport(
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
            sha256=whole.sha256[0],
            artifact_id=plan.artifact_id(old_sha256).hex(),
            directory_sha256=arrangement.directory_sha256,
            payload_offset=arrangement.payload_offset,
            parts=tuple(
                PartRecord(name=one.name or name, bytes=one.file_bytes, sha256=digest)
                for one, digest in zip(arrangement.slices, whole.sha256, strict=True)
            ),
        ),
        verification=COMPARED,
        objects=tuple(
            _object(index, stored, plan.template, digest)
            for index, (stored, digest) in enumerate(zip(arrangement.objects, whole.payload_blake3, strict=True))
        ),
    )


def _template(content: bytes | None) -> NewTemplate | None:
    return None if content is None else NewTemplate(bytes=len(content), sha256=sha256(content).hexdigest())


def _object(index: int, stored: PlacedObject, template: StoredObject | None, digest: str) -> UpgradedObject:
    tensor = stored if isinstance(stored, TensorObject) else None
    return UpgradedObject(
        index=index,
        name=stored.name,
        kind="resource" if tensor is None else "tensor",
        shape=stored.shape,
        format=None if tensor is None else tensor.format,
        layout=stored.layout if isinstance(stored, TensorObject) else stored.encoding,
        offset=stored.offset,
        bytes=stored.bytes,
        kept=stored is not template,
        payload_blake3=digest,
    )
