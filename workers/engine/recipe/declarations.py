"""Sources, evidence and resources, checked and with defaults filled in: recipe.md (sources to resources)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from schemas.recipe.document import (
    CheckpointDocument,
    EvidenceDocument,
    FileDocument,
    RecipeDocument,
    ResourceDocument,
    SourceDocument,
)
from schemas.recipe.expanded import Evidence, ExpandedResource, ExpandedSource, Quantization, SourceKind
from schemas.recipe.fields import Faulty, read_integer, read_text
from schemas.recipe.limits import CANONICAL_INTEGER_MAX
from schemas.recipe.pointer import NodePath, pointer
from schemas.recipe.text import Text
from workers.engine.recipe.fault_list import unknown
from workers.engine.recipe.resolution import Resolver
from workers.engine.recipe.scope import Scope

SHA256 = re.compile(r"[0-9a-f]{64}")

REGISTERED_REPAIRS: tuple[str, ...] = ()
"""Repairs of resources that a recipe may name (recipe.md, resources)."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The declared sources, None where the declaration is faulty, and the names of those that are checkpoints.

    `usable` if there are any and none is faulty; if there are none, that is a fault already.
    """

    declared: Mapping[str, ExpandedSource | None]
    checkpoints: tuple[str, ...]
    usable: bool

    def find(self, name: str, resolver: Resolver, path: NodePath) -> ExpandedSource | None:
        """The source of that name; an unknown one is a fault at `path`."""
        if self.declared and name not in self.declared:
            resolver.faults.add(path, unknown("source", name, self.declared))
        return self.declared.get(name)

    def checkpoint(self, node: Text | Faulty, resolver: Resolver, scope: Scope, path: NodePath) -> str | None:
        """The name of a source that tensors can be read from."""
        return self._of_kind(SourceKind.CHECKPOINT, "tensors", node, resolver, scope, path)

    def file(self, node: Text | Faulty, resolver: Resolver, scope: Scope, path: NodePath) -> str | None:
        """The name of a source that counts can be read from."""
        return self._of_kind(SourceKind.FILE, "counts", node, resolver, scope, path)

    def only_checkpoint(self, resolver: Resolver, path: NodePath) -> str | None:
        """The checkpoint that is meant where none is named."""
        if not self.usable:
            return None
        if len(self.checkpoints) != 1:
            found = f"it has {', '.join(self.checkpoints) or 'none'}"
            resolver.faults.add(path, f"'source' may be left out only where the recipe has one checkpoint; {found}")
            return None
        return self.checkpoints[0]

    def _of_kind(
        self, kind: SourceKind, what: str, node: Text | Faulty, resolver: Resolver, scope: Scope, path: NodePath
    ) -> str | None:
        name = resolver.name(node, scope, path)
        source = None if name is None else self.find(name, resolver, path)
        if source is not None and source.kind is not kind:
            message = f"{what} are read from a source of kind {kind}; {name!r} is of kind {source.kind}"
            resolver.faults.add(path, message)
        return name


@dataclass(frozen=True, slots=True)
class Resources:
    """The declared resources by name, in payload order; None for one that is faulty. `complete` if all have a name."""

    declared: Mapping[str, ExpandedResource | None]
    complete: bool


def expand_sources(document: RecipeDocument, resolver: Resolver, scope: Scope) -> Sources:
    """Every source by name, with its defaults."""
    if isinstance(document.sources, Faulty):
        return Sources({}, (), usable=False)
    path = (None, "sources")
    if not document.sources:
        resolver.faults.add(path, "a recipe has at least one source")
    declared = {name: _source(name, node, resolver, scope, (path, name)) for name, node in document.sources.items()}
    checkpoints = [s.name for s in declared.values() if s is not None and s.kind is SourceKind.CHECKPOINT]
    return Sources(declared, tuple(checkpoints), usable=bool(declared) and None not in declared.values())


def _source(
    name: str, node: SourceDocument | Faulty, resolver: Resolver, scope: Scope, path: NodePath
) -> ExpandedSource | None:
    if isinstance(node, Faulty):
        return None
    origin = None if node.origin is None else resolver.filled(node.origin, scope, (path, "origin"))
    if isinstance(node, FileDocument):
        sha256 = _sha256(node.sha256, resolver, scope, (path, "sha256"))
        return ExpandedSource(
            name, SourceKind.FILE, origin, Quantization.NONE, None, sha256, unused=(), at=pointer(path)
        )
    config = None if node.config is None else _config(node, resolver, scope, (path, "config"))
    return ExpandedSource(
        name,
        SourceKind.CHECKPOINT,
        origin,
        _quantization(node, resolver, scope, (path, "quantization")),
        config,
        sha256=None,
        unused=_patterns(node, resolver, scope, (path, "unused")),
        at=pointer(path),
    )


def _quantization(node: CheckpointDocument, resolver: Resolver, scope: Scope, path: NodePath) -> Quantization:
    if node.quantization is None:
        return Quantization.NONE
    known = resolver.choice(node.quantization, Quantization, scope, path, what="quantization")
    return known or Quantization.NONE


def _patterns(node: CheckpointDocument, resolver: Resolver, scope: Scope, path: NodePath) -> tuple[str, ...]:
    if isinstance(node.unused, Faulty):
        return ()
    patterns = [resolver.filled(item, scope, (path, index)) for index, item in enumerate(node.unused)]
    return tuple(pattern for pattern in patterns if pattern is not None)


def _sha256(node: Text | Faulty | None, resolver: Resolver, scope: Scope, path: NodePath) -> str | None:
    digest = None if node is None else resolver.text(node, scope, path)
    if digest is not None and SHA256.fullmatch(digest) is None:
        resolver.faults.add(path, f"a SHA-256 is 64 digits of 0-9 and a-f, found {digest[:80]!r}")
    return digest


def _config(node: CheckpointDocument, resolver: Resolver, scope: Scope, path: NodePath) -> Mapping[str, object] | None:
    if node.config is None or isinstance(node.config, Faulty):
        return None
    return {name: _config_value(value, resolver, scope, (path, name)) for name, value in node.config.members.items()}


def _config_value(value: object, resolver: Resolver, scope: Scope, path: NodePath) -> object:
    """An expected value of config.json: its texts have variables, and "=expression" stands for an integer."""
    match value:
        case dict():
            return {name: _config_value(item, resolver, scope, (path, name)) for name, item in value.items()}
        case list():
            return [_config_value(item, resolver, scope, (path, index)) for index, item in enumerate(value)]
        case str():
            return _config_text(value, resolver, scope, path)
        case bool():
            return value
        case int() if abs(value) > CANONICAL_INTEGER_MAX:
            resolver.faults.add(path, f"{value} is beyond 2^53-1, the largest integer of the canonical form (RFC 8785)")
            return None
        case _:
            return value


def _config_text(value: str, resolver: Resolver, scope: Scope, path: NodePath) -> int | str | None:
    node = read_integer(value) if value.startswith("=") else read_text(value)
    if isinstance(node, Faulty):
        for fault in node.faults:
            resolver.faults.add(path, fault.message)
        return None
    return resolver.text(node, scope, path) if isinstance(node, Text) else resolver.canonical_integer(node, scope, path)


def expand_evidence(document: RecipeDocument, resolver: Resolver, scope: Scope) -> tuple[Evidence, ...]:
    """Every citation that can be read."""
    if isinstance(document.evidence, Faulty):
        return ()
    path = (None, "evidence")
    cited = [_citation(node, resolver, scope, (path, index)) for index, node in enumerate(document.evidence)]
    return tuple(citation for citation in cited if citation is not None)


def _citation(node: EvidenceDocument | Faulty, resolver: Resolver, scope: Scope, path: NodePath) -> Evidence | None:
    if isinstance(node, Faulty):
        return None
    claim = resolver.filled(node.claim, scope, (path, "claim"))
    url = resolver.text(node.url, scope, (path, "url"))
    if url is not None and not _is_https(url):
        resolver.faults.add((path, "url"), f"evidence is cited by an https:// address, found {url[:80]!r}")
    return None if claim is None or url is None else Evidence(claim, url)


def _is_https(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "https" and bool(parts.hostname) and not re.search(r"\s", url)


def expand_resources(document: RecipeDocument, resolver: Resolver, scope: Scope, sources: Sources) -> Resources:
    """Every resource by name."""
    if isinstance(document.resources, Faulty):
        return Resources({}, complete=False)
    path = (None, "resources")
    declared: dict[str, ExpandedResource | None] = {}
    complete = True
    for index, node in enumerate(document.resources):
        place = (path, index)
        name = None if isinstance(node, Faulty) else resolver.name(node.name, scope, (place, "name"))
        if isinstance(node, Faulty) or name is None:
            complete = False
            continue
        if name in declared:
            resolver.faults.add((place, "name"), f"the name {name!r} is that of another resource already")
        declared[name] = _resource(name, node, resolver, scope, sources, place)
    return Resources(declared, complete)


def _resource(
    name: str, node: ResourceDocument, resolver: Resolver, scope: Scope, sources: Sources, path: NodePath
) -> ExpandedResource | None:
    source = resolver.name(node.source, scope, (path, "source"))
    declared = None if source is None else sources.find(source, resolver, (path, "source"))
    file = None if node.file is None else _relative_file(node.file, resolver, scope, (path, "file"))
    if declared is not None and declared.kind is SourceKind.FILE and node.file is not None:
        resolver.faults.add((path, "file"), f"{source!r} is itself a file, so 'file' does not belong here")
    if declared is not None and declared.kind is SourceKind.CHECKPOINT and node.file is None:
        resolver.faults.add(path, f"a resource of the checkpoint {source!r} needs the member 'file'")
    sha256 = _sha256(node.sha256, resolver, scope, (path, "sha256"))
    repair = _repairs(node, resolver, scope, (path, "repair"))
    return None if source is None else ExpandedResource(name, source, file, sha256, repair, pointer(path))


def _relative_file(node: Text | Faulty, resolver: Resolver, scope: Scope, path: NodePath) -> str | None:
    """A name below the source's directory, spelled without detours."""
    file = resolver.name(node, scope, path)
    if file is not None and ("\\" in file or any(part in ("", ".", "..") for part in file.split("/"))):
        resolver.faults.add(path, f"a file is a relative name without '..', found {file!r}")
    return file


def _repairs(node: ResourceDocument, resolver: Resolver, scope: Scope, path: NodePath) -> tuple[str, ...]:
    if isinstance(node.repair, Faulty):
        return ()
    repairs = [resolver.text(item, scope, (path, index)) for index, item in enumerate(node.repair)]
    for index, repair in enumerate(repairs):
        if repair is not None and repair not in REGISTERED_REPAIRS:
            resolver.faults.add((path, index), unknown("repair", repair, REGISTERED_REPAIRS))
    return tuple(repair for repair in repairs if repair is not None)
