"""Opens what a recipe names where an invocation says it is: checkpoints, files and resources (recipe.md, sources)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from schemas.errors import ConfigFault, Fault, SourceError
from schemas.recipe.expanded import ExpandedRecipe, ExpandedResource, ExpandedSource, SourceKind
from workers.engine.recipe.inference import TensorType
from workers.engine.sources.checkpoint import Checkpoint, open_checkpoint
from workers.engine.sources.config_members import config_differences
from workers.engine.sources.hashed_file import HashedFile, hash_file
from workers.engine.sources.roots import Roots
from workers.engine.sources.safetensors_header import TensorEntry


@dataclass(frozen=True, slots=True)
class BoundSources:
    """The sources and resources of one conversion, opened: headers read, files and resources hashed."""

    roots: Roots
    checkpoints: Mapping[str, Checkpoint]
    files: Mapping[str, HashedFile]
    resources: Mapping[str, HashedFile]

    def tensor(self, source: str, tensor: str) -> TensorEntry:
        """The tensor of a bound checkpoint. Raises SourceError where it has none of that name."""
        return self.checkpoints[source].tensor(tensor)

    def tensor_type(self, source: str, tensor: str) -> TensorType | None:
        """What inference asks: dtype and shape of a tensor, None where the checkpoint has none of that name."""
        entry = self.checkpoints[source].tensors.get(tensor)
        return None if entry is None else TensorType(entry.dtype_name, entry.shape)


def bind_sources(
    recipe: ExpandedRecipe, places: Mapping[str, Path], resource_places: Mapping[str, Path], roots: Roots
) -> tuple[BoundSources, tuple[Fault, ...]]:
    """Opens everything that can be opened, with a fault for each thing that cannot or is not as the recipe expects.

    `places` binds sources by name; `resource_places` gives single resources another place than their source's.
    """
    faults = [
        Fault("/sources", f"expected one of {', '.join(recipe.sources)}, found a place for {name!r}")
        for name in places
        if name not in recipe.sources
    ]
    names = {resource.name for resource in recipe.resources}
    faults += [
        Fault("/resources", f"expected a resource of the recipe, found a place for {name!r}")
        for name in resource_places
        if name not in names
    ]
    checkpoints: dict[str, Checkpoint] = {}
    files: dict[str, HashedFile] = {}
    for source in recipe.sources.values():
        try:
            if source.name not in places:
                raise _unbound(source)
            if source.kind is SourceKind.CHECKPOINT:
                checkpoints[source.name] = open_checkpoint(source.name, places[source.name], roots)
                faults += _config_faults(source, checkpoints[source.name])
            else:
                owner = f"source {source.name}"
                files[source.name] = hash_file(owner, places[source.name], roots, source.sha256)
        except SourceError as error:
            faults.append(Fault(source.at, str(error)))
    resources: dict[str, HashedFile] = {}
    for resource in recipe.resources:
        try:
            found = _resource(resource, resource_places.get(resource.name), checkpoints, files, roots)
        except SourceError as error:
            faults.append(Fault(resource.at, str(error)))
        else:
            if found is not None:
                resources[resource.name] = found
    return BoundSources(roots, checkpoints, files, resources), tuple(faults)


def _unbound(source: ExpandedSource) -> SourceError:
    found = f"none, and its origin, {source.origin}, not fetched" if source.origin else "none"
    return SourceError(f"source {source.name}", expected=f"a place, as in {source.name}=WHERE", found=found)


def _config_faults(source: ExpandedSource, checkpoint: Checkpoint) -> list[ConfigFault]:
    if source.config is None:
        return []
    differences = config_differences(source.config, checkpoint.config())
    return [ConfigFault.of(source.name, source.at, found) for found in differences]


def _resource(
    resource: ExpandedResource,
    place: Path | None,
    checkpoints: Mapping[str, Checkpoint],
    files: Mapping[str, HashedFile],
    roots: Roots,
) -> HashedFile | None:
    """The resource's file, hashed; None where its source could not be opened, which is a fault of the source's own."""
    owner = f"resource {resource.name}"
    if place is not None:
        return hash_file(owner, place, roots, resource.sha256)
    if resource.file is None:
        if resource.source not in files:
            return None
        return hash_file(owner, files[resource.source].file.path, roots, resource.sha256)
    if resource.source not in checkpoints:
        return None
    return hash_file(owner, checkpoints[resource.source].file(resource.file), roots, resource.sha256)
