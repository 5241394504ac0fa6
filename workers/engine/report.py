"""The report of a conversion, put together from the plan and the records of encoding and verifying (interface.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version

from schemas.artifact_file_name import recipe_file_name
from schemas.minimum_reader import minimum_reader
from schemas.report import (
    ArtifactRecord,
    ConversionReport,
    EncodedObject,
    EvidenceRecord,
    ExecutionRecord,
    ObjectReport,
    PartRecord,
    RecipeIdentity,
    ReportHead,
    ResourceRecord,
    SourceTensorRecord,
    TensorReference,
    VerificationRecord,
    VerifiedObject,
)
from workers.engine.plan import Plan
from workers.engine.planned_objects import PlannedObject, PlannedResource, SourceTensor

NOT_VERIFIED = VerificationRecord(coverage="none", seed=None)


def conversion_report(
    plan: Plan,
    encoded: Sequence[EncodedObject],
    verified: Sequence[VerifiedObject],
    *,
    sha256: Sequence[str],
    artifact_id: bytes | None,
    verification: VerificationRecord,
) -> ConversionReport:
    """The whole report. `encoded` has every object; `verified` every object, or none where nothing was verified;
    `sha256` every file, the entry first."""
    made = {record.index: record for record in encoded}
    checked = {record.index: record for record in verified}
    digests = source_digests(encoded)
    return ConversionReport(
        **dict(report_head(plan, sha256=sha256, artifact_id=artifact_id, verification=verification)),
        objects=tuple(object_report(one, made[one.index], checked.get(one.index), digests) for one in plan.objects),
    )


def report_head(
    plan: Plan, *, sha256: Sequence[str], artifact_id: bytes | None, verification: VerificationRecord
) -> ReportHead:
    """Everything of the report but its objects."""
    recipe = plan.recipe
    return ReportHead(
        converter=f"ninforge {version('ninforge')}",
        model_id=recipe.model_id,
        weights_id=recipe.weights_id,
        framing=int(plan.framing),
        minimum_reader=minimum_reader(plan.framing),
        execution=ExecutionRecord(verdict=plan.execution.verdict, reasons=plan.execution.reasons),
        recipe=RecipeIdentity(id=recipe.id, revision=recipe.revision, sha256=recipe.sha256),
        let_overridden=recipe.let_overridden,
        artifact=ArtifactRecord(
            bytes=plan.file_bytes,
            sha256=sha256[0],
            artifact_id=None if artifact_id is None else artifact_id.hex(),
            directory_sha256=plan.arrangement.directory_sha256,
            payload_offset=plan.arrangement.payload_offset,
            parts=tuple(
                PartRecord(
                    name=one.name or recipe_file_name(recipe, plan.framing),
                    bytes=one.file_bytes,
                    sha256=digest,
                )
                for one, digest in zip(plan.arrangement.slices, sha256, strict=True)
            ),
        ),
        verification=verification,
        evidence=tuple(EvidenceRecord(claim=one.claim, url=one.url) for one in recipe.evidence),
        resources=tuple(
            ResourceRecord(name=one.name, source=one.source, bytes=one.bytes, sha256=one.content.sha256)
            for one in plan.objects
            if isinstance(one, PlannedResource)
        ),
        unused=tuple(TensorReference(source=source, tensor=tensor) for source, tensor in plan.unused),
        ignored=tuple(TensorReference(source=source, tensor=tensor) for source, tensor in plan.ignored),
        warnings=plan.warnings,
    )


def source_digests(encoded: Sequence[EncodedObject]) -> dict[SourceTensor, str]:
    """BLAKE3 by source tensor, over all objects: each tensor was digested by the first object that uses it."""
    return {(one.source, one.tensor): one.blake3 for record in encoded for one in record.source_digests}


def object_report(
    planned: PlannedObject,
    encoded: EncodedObject,
    verified: VerifiedObject | None,
    digests: Mapping[SourceTensor, str],
) -> ObjectReport:
    """One object of a report."""
    return ObjectReport(
        index=planned.index,
        name=planned.name,
        kind=planned.kind,
        shape=planned.shape,
        format=planned.format,
        layout=planned.layout,
        offset=planned.offset,
        bytes=planned.bytes,
        state="encoded" if verified is None else "verified",
        sources=tuple(
            SourceTensorRecord(
                source=one.source,
                file=one.file,
                tensor=one.tensor,
                dtype=one.dtype,
                shape=one.shape,
                blake3=digests[one.source, one.tensor],
            )
            for one in planned.sources
        ),
        expression=planned.expression,
        encoder=encoded.encoder,
        backend=encoded.backend,
        worker=encoded.worker,
        blocks=encoded.blocks,
        seconds=encoded.seconds,
        payload_blake3=encoded.payload_blake3,
        reciprocals=encoded.reciprocals,
        error=None if verified is None else verified.error,
        checks=() if verified is None else verified.checks,
    )
