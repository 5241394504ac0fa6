"""What must hold between a recipe and its sources before anything is planned: quantization, draft head, leftovers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from schemas.errors import Fault, PlanError, SourceError
from schemas.recipe.expanded import DraftIds, ExpandedRecipe
from workers.engine.binding import BoundSources
from workers.engine.draft_inputs import draft_faults
from workers.engine.planned_objects import SourceTensor
from workers.engine.quantization_config import quantization_faults
from workers.engine.quantized_values import value_faults
from workers.engine.recipe.inference import TypedObject
from workers.engine.sources.safetensors_header import TensorEntry


def check_draft_head(recipe: ExpandedRecipe, bound: BoundSources, typed: Sequence[TypedObject]) -> None:
    """Raises PlanError for a ranking or special tokens that give no ids for the draft head."""
    selections = [(one.spec.at, v.op) for one in typed for v in (one.value, *one.equals) if isinstance(v.op, DraftIds)]
    faults = [fault for at, op in selections for fault in draft_faults(at, op, bound)]
    if faults:
        raise PlanError(f"recipe {recipe.id}", faults, expected="files that a draft head's ids follow from")


def check_quantization(
    recipe: ExpandedRecipe,
    bound: BoundSources,
    typed: Sequence[TypedObject],
    used: Sequence[Mapping[SourceTensor, TensorEntry]],
) -> None:
    """Raises PlanError for linears in use that are stored otherwise than their checkpoint's own config says, and for
    quantized values that take their parts otherwise than it stores them."""
    faults = [fault for one in typed for fault in value_faults(one, recipe.sources)]
    for checkpoint in bound.checkpoints.values():
        source = recipe.sources[checkpoint.name]
        names = {tensor for tensors in used for owner, tensor in tensors if owner == checkpoint.name}
        try:
            faults += quantization_faults(source, checkpoint, names)
        except SourceError as error:
            faults.append(Fault(f"{source.at}/quantization", str(error)))
    if faults:
        raise PlanError(f"recipe {recipe.id}", faults, expected="tensors stored as the quantization config says")


def leftovers(
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
