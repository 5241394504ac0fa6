"""The plan of a conversion: everything that is known before a weight is read (design.md, Plan).

Planning reads headers, config members and resources, checks each against the recipe, and fixes directory, offsets and
file size. It imports no native code.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import ClassVar, Literal

from schemas.errors import Fault, PlanError, SourceError
from schemas.interface import PlanDocument, PlannedObjectSummary, PlannedPart
from schemas.minimum_reader import artifact_file_name, minimum_reader
from schemas.recipe.expanded import DraftIds, ExpandedObject, ExpandedRecipe, Fp8Row, Nvfp4, Tensor
from schemas.registry import Format, Layout, ResourceEncoding
from schemas.report import ExecutionRecord, TensorReference
from workers.engine.architectures.registered import ARCHITECTURES
from workers.engine.binding import BoundSources, bind_sources
from workers.engine.container.arrangement import Arrangement, arrange
from workers.engine.container.directory import Framing, Identity, SingleFileFraming
from workers.engine.container.model_arrangement import Inscription, arrange_model
from workers.engine.container.placement import UnplacedResource, UnplacedTensor
from workers.engine.draft_inputs import draft_faults
from workers.engine.execution import Execution, judge_execution
from workers.engine.inscription import component_anchors, inscribe
from workers.engine.packaging import DEFAULT_PACKAGING, Packaging
from workers.engine.quantization_config import quantization_faults
from workers.engine.quantized_values import value_faults
from workers.engine.recipe.describe import render
from workers.engine.recipe.inference import Typed, TypedObject, infer_recipe
from workers.engine.sources.hashed_file import HashedFile
from workers.engine.sources.roots import Roots
from workers.engine.sources.safetensors_header import TensorEntry

SourceTensor = tuple[str, str]
"""A source's name and a tensor's name in it."""


@dataclass(frozen=True, slots=True)
class SourceTensorIdentity:
    """A source tensor as provenance names it; `file` is relative to the checkpoint's folder."""

    source: str
    file: str
    tensor: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlannedResource:
    """A resource at its place: `offset` counts from the start of the payload."""

    index: int
    name: str
    offset: int
    bytes: int
    source: str
    content: HashedFile

    kind: ClassVar[Literal["resource"]] = "resource"
    shape: ClassVar[None] = None
    format: ClassVar[None] = None
    layout: ClassVar[ResourceEncoding] = ResourceEncoding.RAW_BYTES
    expression: ClassVar[None] = None
    sources: ClassVar[tuple[SourceTensorIdentity, ...]] = ()

    @property
    def source_bytes(self) -> int:
        """What making it reads."""
        return self.bytes


@dataclass(frozen=True, slots=True)
class PlannedTensor:
    """A tensor object at its place, with its value typed and the source tensors in it.

    `digests` are those of them that no object before this one uses: making this object digests them, so that each
    source tensor is digested once.
    """

    index: int
    spec: ExpandedObject
    offset: int
    bytes: int
    value: Typed
    equals: tuple[Typed, ...]
    tensors: Mapping[SourceTensor, TensorEntry]
    digests: tuple[SourceTensor, ...]

    kind: ClassVar[Literal["tensor"]] = "tensor"

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def shape(self) -> tuple[int, ...]:
        return self.spec.shape

    @property
    def format(self) -> Format:
        return self.spec.format

    @property
    def layout(self) -> Layout:
        return self.spec.layout

    @property
    def expression(self) -> str:
        """The value in one readable line."""
        return render(self.spec.value)

    @property
    def sources(self) -> tuple[SourceTensorIdentity, ...]:
        """The source tensors of the value and of what it must equal, in order of first use."""
        return tuple(
            SourceTensorIdentity(source, _shown_name(entry.file.path), tensor, entry.dtype_name, entry.shape)
            for (source, tensor), entry in self.tensors.items()
        )

    @property
    def source_bytes(self) -> int:
        """What making it reads, at most: its source tensors whole."""
        return sum(entry.bytes for entry in self.tensors.values())

    @property
    def is_copy(self) -> bool:
        """Whether the value is that of an already quantized source, with planes of its own."""
        return isinstance(self.value.op, Nvfp4 | Fp8Row)


PlannedObject = PlannedResource | PlannedTensor


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
                PlannedPart(name=one.name or artifact_file_name(self.recipe.id, self.framing), bytes=one.file_bytes)
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

    Raises PlanError with every fault of sources, config members, resources, tensors and leftovers at once, and for a
    framing that the recipe does not allow; ArchitectureError for what framing 3 cannot say of the objects.
    """
    framing = packaging.chosen(recipe)
    bound, faults = bind_sources(recipe, places, resources or {}, roots)
    if faults:
        raise PlanError(f"recipe {recipe.id}", faults, expected="sources as the recipe describes them")
    typed = infer_recipe(recipe, bound.tensor_type)
    used = [_tensors_of(bound, one.value, *one.equals) for one in typed]
    _check_draft_head(recipe, bound, typed)
    _check_quantization(recipe, bound, typed, used)
    unused, warnings = _leftovers(recipe, bound, {key for tensors in used for key in tensors})
    inscription = None
    if framing is Framing.THREE:
        inscription = _inscription(
            recipe,
            bound,
            packaging,
            [(one.spec.name, key[0]) for one, keys in zip(typed, used, strict=True) for key in keys],
        )
    arrangement = _arrange(recipe, bound, framing, inscription)
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
    execution = judge_execution(recipe, arrangement)
    return Plan(recipe, bound, arrangement, inscription, execution, tuple(objects), unused, ignored, warnings)


def walk(value: Typed) -> Iterator[Typed]:
    """A value and all values below it, operands in order."""
    yield value
    for child in value.of:
        yield from walk(child)


def _shown_name(path: Path) -> str:
    """A file's name as text: bytes of it that are no UTF-8 come as escapes, since JSON cannot hold them."""
    return os.fsencode(path.name).decode("utf-8", "backslashreplace")


def _tensors_of(bound: BoundSources, *values: Typed) -> dict[SourceTensor, TensorEntry]:
    keys = [(n.op.source, n.op.tensor) for value in values for n in walk(value) if isinstance(n.op, Tensor)]
    return {key: bound.tensor(*key) for key in dict.fromkeys(keys)}


def _check_draft_head(recipe: ExpandedRecipe, bound: BoundSources, typed: Sequence[TypedObject]) -> None:
    """Raises PlanError for a ranking or special tokens that give no ids for the draft head."""
    selections = [(one.spec.at, v.op) for one in typed for v in (one.value, *one.equals) if isinstance(v.op, DraftIds)]
    faults = [fault for at, op in selections for fault in draft_faults(at, op, bound)]
    if faults:
        raise PlanError(f"recipe {recipe.id}", faults, expected="files that a draft head's ids follow from")


def _check_quantization(
    recipe: ExpandedRecipe,
    bound: BoundSources,
    typed: Sequence[TypedObject],
    used: Sequence[Mapping[SourceTensor, TensorEntry]],
) -> None:
    """Raises PlanError for linears in use that are stored otherwise than their checkpoint's own config says, and for
    quantized values that take their parts otherwise than it stores them."""
    faults = [fault for one in typed for fault in value_faults(one.spec.at, (one.value, *one.equals), recipe.sources)]
    for checkpoint in bound.checkpoints.values():
        source = recipe.sources[checkpoint.name]
        names = {tensor for tensors in used for owner, tensor in tensors if owner == checkpoint.name}
        try:
            faults += quantization_faults(source, checkpoint, names)
        except SourceError as error:
            faults.append(Fault(f"{source.at}/quantization", str(error)))
    if faults:
        raise PlanError(f"recipe {recipe.id}", faults, expected="tensors stored as the quantization config says")


def _leftovers(
    recipe: ExpandedRecipe, bound: BoundSources, used: set[SourceTensor]
) -> tuple[tuple[SourceTensor, ...], tuple[str, ...]]:
    """Unused tensors that a pattern covers, and warnings for idle patterns; PlanError for tensors that none covers."""
    covered: list[SourceTensor] = []
    faults: list[Fault] = []
    warnings: list[str] = []
    for checkpoint in bound.checkpoints.values():
        source = recipe.sources[checkpoint.name]
        for i, pattern in enumerate(source.unused):
            if not any(fnmatchcase(tensor, pattern) for tensor in checkpoint.tensors):
                warnings.append(f"{source.at}/unused/{i}: the pattern {pattern!r} matches no tensor")
        for tensor in checkpoint.tensors:
            if (checkpoint.name, tensor) in used:
                continue
            if any(fnmatchcase(tensor, pattern) for pattern in source.unused):
                covered.append((checkpoint.name, tensor))
            else:
                message = f"expected every tensor of {checkpoint.name} used or covered by a pattern, found {tensor!r}"
                faults.append(Fault(f"{source.at}/unused", message))
    if faults:
        raise PlanError(f"recipe {recipe.id}", faults, expected="no weight dropped by oversight")
    return tuple(covered), tuple(warnings)


def _inscription(
    recipe: ExpandedRecipe, bound: BoundSources, packaging: Packaging, used: Sequence[tuple[str, str]]
) -> Inscription:
    architecture = ARCHITECTURES[recipe.architecture or ""]
    offered = architecture.offered_components([one.name for one in recipe.objects])
    return inscribe(recipe, bound, packaging, architecture, component_anchors(offered, used))


def _arrange(
    recipe: ExpandedRecipe, bound: BoundSources, framing: Framing, inscription: Inscription | None
) -> Arrangement:
    resources = [UnplacedResource(one.name, bound.resources[one.name].file.bytes) for one in recipe.resources]
    tensors = [UnplacedTensor(one.name, one.shape, one.format) for one in recipe.objects]
    if inscription is not None:
        return arrange_model(inscription, [*resources, *tensors])
    chosen: SingleFileFraming = Framing.ONE if framing is Framing.ONE else Framing.TWO
    return arrange(chosen, Identity(recipe.model_id, recipe.weights_id), [*resources, *tensors])
