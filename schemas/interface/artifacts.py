"""Artifacts and their files."""

from __future__ import annotations

from schemas.interface.answers import Answer


class ArtifactPart(Answer):
    """One file of an artifact."""

    name: str
    bytes: int
    sha256: str


class Artifact(Answer):
    """A verified artifact: `bytes` of all its files, `sha256` of the entry, which is the first of `parts`.
    `minimum_reader` says in words which engines open it."""

    bytes: int
    sha256: str
    minimum_reader: str
    parts: tuple[ArtifactPart, ...]


class ManifestPart(ArtifactPart):
    """One file of a published artifact: `url` is where it is downloaded, a path on the same host. Only its own name
    lets a reader find it beside the entry."""

    index: int
    url: str


class ArtifactManifest(Answer):
    """All files of a published artifact, the entry first. `artifact_id` stands in their headers, None in framings 1
    and 2; `bytes` is of all files together."""

    artifact_id: str | None
    framing: int
    minimum_reader: str
    bytes: int
    parts: tuple[ManifestPart, ...]
