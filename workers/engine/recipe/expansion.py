"""From the document to its expansion: every fault at once, or a complete recipe with its identity."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemas.errors import Fault
from schemas.recipe.document import RecipeDocument
from schemas.recipe.expanded import ExpandedObject, ExpandedRecipe
from schemas.recipe.fields import Faulty
from schemas.recipe.limits import CANONICAL_BYTES, ID_CHARACTERS
from workers.engine.architectures.registered import ARCHITECTURES
from workers.engine.recipe.canonical import with_identity
from workers.engine.recipe.declarations import (
    Resources,
    Sources,
    expand_evidence,
    expand_resources,
    expand_sources,
)
from workers.engine.recipe.entry_expansion import EntryExpander
from workers.engine.recipe.expression_expansion import ExpressionExpander
from workers.engine.recipe.fault_list import Budget, FaultList, unknown
from workers.engine.recipe.inventory import (
    inventory_faults,
    load_inventory,
    registered_targets,
)
from workers.engine.recipe.object_expansion import ObjectExpander
from workers.engine.recipe.recipe_rules import check_evidence, check_gathers
from workers.engine.recipe.references import check_references
from workers.engine.recipe.resolution import Resolver, bind_let
from workers.engine.recipe.scope import Scope

_ID = re.compile(r"[a-z0-9][a-z0-9._-]*")


def expand(
    document: RecipeDocument, structural: Sequence[Fault], *, where: str, let: Mapping[str, int]
) -> ExpandedRecipe:
    """Expands a document as far as it could be read, `structural` being the faults met in reading it.

    Raises RecipeError with those and every other fault at once, each by its pointer.
    """
    faults = FaultList(where, structural)
    resolver = Resolver(faults, Budget(faults))
    scope = bind_let(document.let, let, resolver)
    identity = _identity(document, resolver, scope)
    sources = expand_sources(document, resolver, scope)
    evidence = expand_evidence(document, resolver, scope)
    resources = expand_resources(document, resolver, scope, sources)
    objects = _objects(document, resolver, scope, sources, resources)
    check_evidence(document, evidence, objects, faults)
    _check_registered(document, faults)
    if faults or identity is None:
        raise faults.error()
    recipe = with_identity(
        ExpandedRecipe(
            id=identity.id,
            revision=identity.revision,
            model_id=identity.model_id,
            weights_id=identity.weights_id,
            title=identity.title,
            target=_plain(document.target),
            architecture=_plain(document.architecture),
            sources={name: source for name, source in sources.declared.items() if source is not None},
            evidence=evidence,
            resources=tuple(resource for resource in resources.declared.values() if resource is not None),
            objects=tuple(objects),
            let_overridden=bool(let),
            canonical=b"",
            sha256="",
        )
    )
    if recipe.target is not None and not recipe.let_overridden:
        for fault in inventory_faults(recipe, load_inventory(recipe.target)):
            faults.add_at(fault.at, fault.message)
        if faults:
            raise faults.error()
    if len(recipe.canonical) > CANONICAL_BYTES:
        faults.stop(None, f"the limit of {CANONICAL_BYTES // 2**20} MiB of canonical form is passed")
    return recipe


@dataclass(frozen=True, slots=True)
class _Identity:
    id: str
    revision: int
    model_id: str
    weights_id: str
    title: str | None


def _identity(document: RecipeDocument, resolver: Resolver, scope: Scope) -> _Identity | None:
    id = document.id
    if isinstance(id, str) and (len(id) > ID_CHARACTERS or _ID.fullmatch(id) is None):
        expected = f"up to {ID_CHARACTERS} of a-z, 0-9, '.', '_' and '-', a letter or digit first"
        resolver.faults.add((None, "id"), f"an id is {expected}, found {id[:120]!r}")
    revision = resolver.canonical_integer(document.revision, scope, (None, "revision"))
    if revision == 0:
        resolver.faults.add((None, "revision"), "a revision is at least 1, found 0")
    model_id = resolver.name(document.model_id, scope, (None, "model_id"))
    weights_id = resolver.name(document.weights_id, scope, (None, "weights_id"))
    title = None if document.title is None else resolver.text(document.title, scope, (None, "title"))
    if isinstance(id, Faulty) or revision is None or model_id is None or weights_id is None:
        return None
    return _Identity(id, revision, model_id, weights_id, title)


def _objects(
    document: RecipeDocument, resolver: Resolver, scope: Scope, sources: Sources, resources: Resources
) -> list[ExpandedObject]:
    """The objects that have no fault, after checking what they and the resources must not share."""
    faults = resolver.faults
    references = check_references(document, faults)
    entries = EntryExpander(document, resolver, scope, cyclic=references.cyclic)
    expressions = ExpressionExpander(document, resolver, sources, resources, references, scope)
    objects = ObjectExpander(resolver, expressions)
    expanded: dict[str, ExpandedObject | None] = {}
    complete = True
    for placed in entries.placed():
        resolver.budget.object(placed.path)
        name = resolver.name(placed.entry.name, placed.scope, (placed.path, "name"))
        if name is None:
            complete = False
        elif name in expanded or name in resources.declared:
            owner = "another object" if name in expanded else "a resource"
            faults.add((placed.path, "name"), f"the name {name!r} is that of {owner} already")
        spec = objects.expand(placed, name or "?")
        if name is not None:
            expanded[name] = spec
    if not expanded and not resources.declared and complete and entries.complete and resources.complete:
        faults.add((None, "objects"), "a recipe makes at least one object")
    check_gathers(objects.gathering, expanded, faults, complete=complete and entries.complete)
    return [spec for spec in expanded.values() if spec is not None]


def _check_registered(document: RecipeDocument, faults: FaultList) -> None:
    """Target and architecture are among those that are registered."""
    if isinstance(document.target, str) and document.target not in registered_targets():
        faults.add((None, "target"), unknown("target", document.target, registered_targets()))
    if isinstance(document.architecture, str) and document.architecture not in ARCHITECTURES:
        faults.add((None, "architecture"), unknown("architecture", document.architecture, tuple(ARCHITECTURES)))


def _plain(member: str | Faulty | None) -> str | None:
    return member if isinstance(member, str) else None
