"""All files of an artifact into a folder: each checked, and all of them named together once they are complete."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from schemas.errors import OutputError
from schemas.interface import ArtifactManifest, ManifestPart
from service.client.artifact import RemoteArtifact
from service.client.partial_files import PartialFile, opened_partial, partial_path
from workers.engine.publication import publish
from workers.engine.steps import Observer

Shown = Callable[[int], AbstractContextManager[Observer]]
"""Gives a context that is told of the bytes as they come, of so many in all."""


@dataclass(frozen=True, slots=True)
class Download:
    """An artifact whose files are in a folder under the names of its manifest; `fetched` are the bytes that came of
    each, by index: of one that was there already, none."""

    manifest: ArtifactManifest
    folder: Path
    fetched: Mapping[int, int]

    def path(self, part: ManifestPart) -> Path:
        return self.folder / part.name


@dataclass(frozen=True, slots=True)
class _Missing:
    """A file that is to be fetched, and what has come of it."""

    part: ManifestPart
    target: Path
    partial: PartialFile


def download_artifact(artifact: RemoteArtifact, folder: Path, shown: Shown) -> Download:
    """Fetches the files that are not there yet. What has come of each stays, also where this fails.

    Raises ServiceError, VerificationError for bytes of another SHA-256, and OutputError for a folder that is not there
    or too full and for other files under the names.
    """
    if not folder.is_dir():
        raise OutputError(str(folder), expected="a folder that exists", found="none")
    manifest = artifact.manifest()
    with ExitStack() as stack:
        missing = [
            _Missing(part, target, stack.enter_context(opened_partial(partial_path(target, part.sha256))))
            for part in manifest.parts
            if not _is_there(target := folder / part.name, part)
        ]
        if not missing:
            return Download(manifest, folder, {})
        _require_room(missing, folder)
        observer = stack.enter_context(shown(sum(one.part.bytes for one in missing)))
        fetched = {one.part.index: artifact.complete(one.part, one.partial, observer) for one in missing}
        publish([one.partial.path for one in missing], [one.target for one in missing], overwrite=False)
    return Download(manifest, folder, fetched)


def _is_there(target: Path, part: ManifestPart) -> bool:
    """Whether the file has been downloaded already. Raises OutputError for another one under its name."""
    expected = f"no file, or the one with the SHA-256 {part.sha256}"
    try:
        descriptor = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise OutputError(str(target), expected=expected, found=str(error.strerror)) from None
    with os.fdopen(descriptor, "rb", closefd=True) as file:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise OutputError(str(target), expected=expected, found="what is no file")
        found = file_digest(file, "sha256").hexdigest() if state.st_size == part.bytes else "another size"
    if found != part.sha256:
        raise OutputError(str(target), expected=expected, found=f"another file ({found})")
    return True


def _require_room(missing: Sequence[_Missing], folder: Path) -> None:
    needed = sum(max(0, one.part.bytes - one.partial.size) for one in missing)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise OutputError(str(folder), expected=f"room for {needed} bytes", found=f"{free} bytes free")
