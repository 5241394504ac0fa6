"""The plan of a conversion: everything that is known before a weight is read (design.md, Plan).

Planning reads headers, config members and resources, checks each against the recipe, and fixes directory, offsets and
file size. It imports no native code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from math import prod
from pathlib import Path

from schemas.artifact_file_name import recipe_file_name
from schemas.errors import PlanError
from schemas.interface import PlanDocument, PlannedObjectSummary, PlannedPart
from schemas.minimum_reader import minimum_reader
from schemas.recipe.expanded import ExpandedRecipe, Tensor
from schemas.registry import ResourceEncoding
from schemas.report import ExecutionRecord, TensorReference
from workers.engine.architectures.registered import ARCHITECTURES
from workers.engine.binding import BoundSources, bind_sources
from workers.engine.container.arrangement import Arrangement, arrange
from workers.engine.container.directory import Framing, Identity, SingleFileFraming
from workers.engine.container.model_arrangement import Inscription, arrange_model
from workers.engine.container.placement import UnplacedResource, UnplacedTensor
from workers.engine.execution import Execution, judge_execution
from workers.engine.inscription import inscribe
from workers.engine.packaging import DEFAULT_PACKAGING, Packaging
from workers.engine.paused_collection import paused_collection
from workers.engine.plan_checks import check_draft_head, check_quantization, leftovers
from workers.engine.planned_objects import (
    PlannedObject,
    PlannedResource,
    PlannedTensor,
    SourceTensor,
    walk,
)
from workers.engine.recipe.inference import Typed, infer_recipe
from workers.engine.sources.roots import Roots
from workers.engine.sources.safetensors_header import TensorEntry


@dataclass(frozen=True, slots=True)
class Plan:
    """One conversion, ready to be carried out by any number of workers in any order."""

    recipe: ExpandedRecipe
    sources: BoundSources
    arrangement: Arrangement
    inscription: Inscription | None
    """What framing 3 says beside the objects; None in framings 1 and 2."""
    execution: Execution
    objects: tuple[PlannedObject, ...]
    unused: tuple[SourceTensor, ...]
    """Tensors that nothing uses and an `unused` pattern covers."""
    ignored: tuple[SourceTensor, ...]
    """Tensors that shards hold and their index does not map."""
    warnings: tuple[str, ...]

    @property
    def framing(self) -> Framing:
        return self.arrangement.framing

    @property
    def file_bytes(self) -> int:
        return self.arrangement.file_bytes

    @property
    def bits_per_weight(self) -> float:
        """Payload bits of all tensors over their elements; 0 for an artifact of resources alone."""
        tensors = [o for o in self.objects if isinstance(o, PlannedTensor)]
        weights = sum(prod(o.spec.shape) for o in tensors)
        return 8 * sum(o.bytes for o in tensors) / weights if weights else 0.0

    @property
    def bytes_by_format(self) -> dict[str, int]:
        """Payload bytes of each format in use, in order of first use; resources under their encoding."""
        sums: dict[str, int] = {}
        for planned in self.objects:
            kind = planned.spec.format if isinstance(planned, PlannedTensor) else ResourceEncoding.RAW_BYTES
            sums[kind.value] = sums.get(kind.value, 0) + planned.bytes
        return sums

    def document(self) -> PlanDocument:
        """The plan as `ninforge plan --json` and POST /v1/plans give it."""
        return PlanDocument(
            objects=tuple(
                PlannedObjectSummary(
                    name=one.name,
                    kind=one.kind,
                    shape=one.shape,
                    format=one.format,
                    layout=one.layout,
                    offset=one.offset,
                    bytes=one.bytes,
                )
                for one in self.objects
            ),
            framing=int(self.framing),
            minimum_reader=minimum_reader(self.framing),
            execution=ExecutionRecord(verdict=self.execution.verdict, reasons=self.execution.reasons),
            file_bytes=self.file_bytes,
            parts=tuple(
                PlannedPart(
                    name=one.name or recipe_file_name(self.recipe, self.framing),
                    bytes=one.file_bytes,
                )
                for one in self.arrangement.slices
            ),
            payload_offset=self.arrangement.payload_offset,
            directory_sha256=self.arrangement.directory_sha256,
            bits_per_weight=self.bits_per_weight,
            bytes_by_format=self.bytes_by_format,
            let_overridden=self.recipe.let_overridden,
            unused=tuple(TensorReference(source=source, tensor=tensor) for source, tensor in self.unused),
            ignored=tuple(TensorReference(source=source, tensor=tensor) for source, tensor in self.ignored),
            warnings=self.warnings,
        )

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the recipe, all that precedes the payload, and which files in which state the plan was made
        with."""
        lines = [self.recipe.sha256, str(int(self.framing)), self.arrangement.directory_sha256]
        lines += [str(self.arrangement.artifact_id)]
        for checkpoint in self.sources.checkpoints.values():
            lines += [f"{checkpoint.name} {shard.path} {shard.stamp}" for shard in checkpoint.shards]
        for contents in (self.sources.files, self.sources.resources):
            lines += [f"{name} {content.sha256}" for name, content in contents.items()]
        return sha256("\n".join(lines).encode()).hexdigest()


def plan_conversion(
    recipe: ExpandedRecipe,
    places: Mapping[str, Path],
    *,
    resources: Mapping[str, Path] | None = None,
    packaging: Packaging = DEFAULT_PACKAGING,
    roots: Roots,
) -> Plan:
    """Plans a recipe against sources at `places` (by name).

    Raises PlanError with every fault of one stage at once, stage after stage: the framing that the recipe allows,
    sources with config members and resources, tensors by name and type, quantization and draft head, leftovers;
    ArchitectureError for what framing 3 cannot say of the objects.
    """
    framing = packaging.chosen(recipe)
    bound, faults = bind_sources(recipe, places, resources or {}, roots)
    if faults:
        raise PlanError(f"recipe {recipe.id}", faults, expected="sources as the recipe describes them")
    typed = infer_recipe(recipe, bound.tensor_type)
    used = [_tensors_of(bound, one.value, *one.equals) for one in typed]
    check_draft_head(recipe, bound, typed)
    check_quantization(recipe, bound, typed, used)
    unused, warnings = leftovers(recipe, bound, {key for tensors in used for key in tensors})
    with paused_collection():
        inscription = None
        if framing is Framing.THREE:
            sources = [(one.spec.name, key[0]) for one, keys in zip(typed, used, strict=True) for key in keys]
            inscription = inscribe(recipe, bound, packaging, ARCHITECTURES[recipe.architecture or ""], sources)
        arrangement = _arrange(recipe, bound, framing, inscription)
        execution = judge_execution(recipe, arrangement)
    first = len(recipe.resources)
    objects: list[PlannedObject] = [
        PlannedResource(i, resource.name, stored.offset, stored.bytes, resource.source, bound.resources[resource.name])
        for i, (resource, stored) in enumerate(zip(recipe.resources, arrangement.objects, strict=False))
    ]
    seen: set[SourceTensor] = set()
    for i, (one, tensors) in enumerate(zip(typed, used, strict=True)):
        stored = arrangement.objects[first + i]
        fresh = tuple(key for key in tensors if key not in seen)
        seen.update(fresh)
        objects.append(
            PlannedTensor(first + i, one.spec, stored.offset, stored.bytes, one.value, one.equals, tensors, fresh)
        )
    ignored = tuple((c.name, tensor) for c in bound.checkpoints.values() for tensor in c.ignored)
    return Plan(recipe, bound, arrangement, inscription, execution, tuple(objects), unused, ignored, warnings)


def _tensors_of(bound: BoundSources, *values: Typed) -> dict[SourceTensor, TensorEntry]:
    keys = [(n.op.source, n.op.tensor) for value in values for n in walk(value) if isinstance(n.op, Tensor)]
    return {key: bound.tensor(*key) for key in dict.fromkeys(keys)}


def _arrange(
    recipe: ExpandedRecipe, bound: BoundSources, framing: Framing, inscription: Inscription | None
) -> Arrangement:
    resources = [UnplacedResource(one.name, bound.resources[one.name].file.bytes) for one in recipe.resources]
    tensors = [UnplacedTensor(one.name, one.shape, one.format) for one in recipe.objects]
    if inscription is not None:
        return arrange_model(inscription, [*resources, *tensors])
    chosen: SingleFileFraming = Framing.ONE if framing is Framing.ONE else Framing.TWO
    return arrange(chosen, Identity(recipe.model_id, recipe.weights_id), [*resources, *tensors])
