"""Whether an engine runs an artifact, or loads it and fails at start (container-v3.md, 15: what the engine can run)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemas.errors import Fault, PlanError
from schemas.recipe.expanded import ExpandedRecipe
from schemas.report import Verdict
from workers.engine.architectures.architecture import Architecture
from workers.engine.architectures.registered import architecture_of
from workers.engine.container.arrangement import Arrangement
from workers.engine.container.directory import StoredObject, TensorObject
from workers.engine.container.model_description import ModelDescription

RUNS: Verdict = "loads and runs"
FAILS: Verdict = "loads and fails at start"
REFUSED: Verdict = "does not load"
UNKNOWN: Verdict = "not known"


@dataclass(frozen=True, slots=True)
class Execution:
    """The verdict, and why: where an engine fails, each object and the rule that it breaks."""

    verdict: Verdict
    reasons: tuple[str, ...]


def judge_execution(recipe: ExpandedRecipe, arrangement: Arrangement) -> Execution:
    """The verdict on what a recipe makes, whose description its architecture made."""
    architecture = None if arrangement.description is None else architecture_of(arrangement.description)
    if arrangement.description is not None and architecture is not None:
        return _judged(architecture, arrangement.description, _tensors(arrangement.objects))
    if recipe.target is not None and not recipe.let_overridden:
        return Execution(RUNS, (f"its objects are those of {recipe.target}",))
    reason = f"framing {arrangement.framing:d} does not say what its objects are, and the recipe claims no target"
    return Execution(UNKNOWN, (reason,))


def judge_description(description: ModelDescription, objects: Sequence[StoredObject]) -> Execution:
    """The verdict on a directory of framing 3."""
    architecture = architecture_of(description)
    if architecture is None:
        return Execution(UNKNOWN, ("its architecture is not a registered one",))
    tensors = _tensors(objects)
    refused = tuple(str(fault) for fault in architecture.architecture_faults(description, tensors))
    if refused:
        return Execution(REFUSED, refused)
    return _judged(architecture, description, tensors)


def _judged(
    architecture: Architecture, description: ModelDescription, tensors: Mapping[str, TensorObject]
) -> Execution:
    faults = architecture.execution_faults(description, tensors)
    return Execution(FAILS if faults else RUNS, tuple(f"{one.subject}: {one.message}" for one in faults))


def _tensors(objects: Sequence[StoredObject]) -> dict[str, TensorObject]:
    return {one.name: one for one in objects if isinstance(one, TensorObject)}


def require_executable(recipe: ExpandedRecipe, execution: Execution) -> None:
    """Raises PlanError with every object that an engine cannot run."""
    if execution.verdict == FAILS:
        faults = [Fault("/objects", reason) for reason in execution.reasons]
        expected = "an artifact that an engine runs, or leave to make one that none does (allow_unexecutable)"
        raise PlanError(f"recipe {recipe.id}", faults, expected=expected)
