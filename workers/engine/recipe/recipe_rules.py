"""Rules that take more than one object to break: recipe.md (evidence, objects, the operator gather)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schemas.recipe.document import RecipeDocument
from schemas.recipe.expanded import (
    Cast,
    CastRule,
    Evidence,
    ExpandedObject,
    Gather,
    Nvfp4,
    Reciprocal,
    ReciprocalRule,
)
from schemas.recipe.fields import Faulty
from schemas.registry import EncoderProfile, Format
from workers.engine.recipe.cycles import cycles
from workers.engine.recipe.fault_list import FaultList
from workers.engine.recipe.operands import walk_expression


def is_lossy(spec: ExpandedObject) -> bool:
    """Encoded by a profile, or made with a cast by `rne` or a reciprocal `nearest` (recipe.md, evidence)."""
    return isinstance(spec.encode, EncoderProfile) or any(
        (isinstance(op, Cast) and op.by is CastRule.RNE)
        or (isinstance(op, Reciprocal) and op.by is ReciprocalRule.NEAREST)
        or (isinstance(op, Nvfp4) and op.reciprocal is ReciprocalRule.NEAREST)
        for op in walk_expression(spec.value)
    )


def check_evidence(
    document: RecipeDocument, evidence: Sequence[Evidence], objects: Sequence[ExpandedObject], faults: FaultList
) -> None:
    """At least one citation where any object is lossy."""
    if evidence or isinstance(document.evidence, Faulty) or document.evidence:
        return
    lossy = next((spec for spec in objects if is_lossy(spec)), None)
    if lossy is not None:
        message = f"the object {lossy.name!r} is lossy, so the recipe needs at least one entry of evidence"
        faults.add((None, "evidence"), message)


def check_gathers(
    gathering: Sequence[ExpandedObject],
    objects: Mapping[str, ExpandedObject | None],
    faults: FaultList,
    *,
    complete: bool,
) -> None:
    """Rows are listed by an I32 object of the recipe that does not depend on the object that is gathered by it.

    `objects` by name, None for one that is faulty; `complete` if there are no others.
    """
    graph: dict[str, list[str]] = {}
    for spec in gathering:
        expressions = (spec.value, *spec.equals)
        graph[spec.name] = [op.rows for e in expressions for op in walk_expression(e) if isinstance(op, Gather)]
        for rows in graph[spec.name]:
            _check_rows(spec, rows, objects, faults, complete=complete)
    places = {spec.name: spec.at for spec in gathering}
    for cycle in cycles(graph):
        faults.add_at(places[cycle[0]], f"gather goes in a circle: {' -> '.join([*cycle, cycle[0]])}")


def _check_rows(
    spec: ExpandedObject, rows: str, objects: Mapping[str, ExpandedObject | None], faults: FaultList, *, complete: bool
) -> None:
    if rows not in objects and complete:
        faults.add_at(spec.at, f"object {spec.name!r}: gather by {rows!r}, which is no object of this recipe")
    listing = objects.get(rows)
    if listing is not None and listing.format is not Format.I32:
        faults.add_at(
            spec.at, f"object {spec.name!r}: gather takes rows from an I32 object, {rows!r} is {listing.format}"
        )
