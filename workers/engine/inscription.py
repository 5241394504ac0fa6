"""What an artifact of framing 3 says beside its objects, from recipe and sources (container-v3.md, 6, 11 and 15)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from schemas.artifact_file_name import recipe_file_name
from schemas.errors import ArchitectureError
from schemas.recipe.expanded import ExpandedRecipe
from workers.engine.architectures.architecture import MAX_RESOURCE_BYTES, Architecture, NamedTensor
from workers.engine.binding import BoundSources
from workers.engine.container.directory import Framing
from workers.engine.container.model_arrangement import Inscription
from workers.engine.container.slices import DEFAULT_PART_BYTES
from workers.engine.packaging import Packaging

CONVERTER = "ninforge"
_COMPONENT_OF_GEOMETRY = {"mtp": "text"}
"""Components whose config is that of another's checkpoint."""


def inscribe(
    recipe: ExpandedRecipe,
    bound: BoundSources,
    packaging: Packaging,
    architecture: Architecture,
    used: Sequence[tuple[str, str]],
) -> Inscription:
    """What the artifact says. `used` lists (object, source) in the order of objects and of their tensors.

    Raises ArchitectureError with everything in configs and objects that the architecture does not know, SourceError
    where a config.json cannot be read.
    """
    offered = architecture.offered_components([one.name for one in recipe.objects])
    documents = {name: bound.checkpoints[source].config() for name, source in _anchors(offered, used).items()}
    configs = architecture.component_configs(offered, documents)
    tensors = [NamedTensor(one.name, one.shape, one.format, one.at) for one in recipe.objects]
    description = architecture.describe(tensors, [one.name for one in recipe.resources], configs)
    faults = architecture.resource_findings(description, partial(_content, bound)).faults
    if faults:
        expected = f"resources that an engine takes for {architecture.name}"
        raise ArchitectureError(f"recipe {recipe.id}", faults, expected=expected)
    return Inscription(
        description,
        metadata={"name": recipe.model_id},
        provenance={
            "converter": CONVERTER,
            "recipe": {"id": recipe.id, "sha256": recipe.sha256},
            "sources": {one.name: one.origin for one in recipe.sources.values() if one.origin is not None},
        },
        entry_name=recipe_file_name(recipe, Framing.THREE),
        part_bytes=DEFAULT_PART_BYTES if packaging.part_bytes is None else packaging.part_bytes,
        artifact_id=packaging.artifact_id,
    )


def _content(bound: BoundSources, resource: str) -> bytes:
    return bound.resources[resource].content(bound.roots, limit=MAX_RESOURCE_BYTES)


def _anchors(offered: Sequence[str], used: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The source whose config.json describes each component: that of the first tensor in its first object."""
    anchors: dict[str, str] = {}
    for name in offered:
        prefix = f"{_COMPONENT_OF_GEOMETRY.get(name, name)}/"
        sources = (source for object_name, source in used if object_name.startswith(prefix))
        found = next(sources, None)
        if found is not None:
            anchors[name] = found
    return anchors
