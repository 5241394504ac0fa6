"""Where fetched files are kept: each once, by its content, and never before that is whole and right.

```
hub/models--ORG--NAME/blobs/<digest>                   as huggingface_hub keeps them, whose tools work on this folder
hub/models--ORG--NAME/snapshots/<commit>/<path>        links to them
hub/.locks/models--ORG--NAME/<digest>.lock
listings/models--ORG--NAME/<commit>.json               what a repository holds at a commit
web/<sha256>/<name>                                    files by https
planned-…/                                             what one process plans with, as long as it does, and what is
                                                       being removed
```
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2
from huggingface_hub.file_download import repo_folder_name

from schemas.errors import OutputError
from workers.remote.download import Advance, ContentDigest, DigestKind, RemoteFile, fetch_file
from workers.remote.hub import HubFile, Snapshot
from workers.remote.places import HubPlace, RemotePlace, WebPlace

_PASSING = "planned-"
_PASSING_SECONDS = 24 * 3600

FETCHED = re.compile(
    r"[^\s']*\bhub/models--([A-Za-z0-9._-]+?)--([A-Za-z0-9._-]+)/snapshots/([0-9a-f]{40})(?![0-9A-Za-z])"
)
"""Where a repository lies at a commit, in a message."""


@dataclass(frozen=True, slots=True)
class CachedFile:
    """A file and its places: its bytes are to lie at `blob`, and it is taken from `path`."""

    remote: RemoteFile
    blob: Path
    path: Path
    lock: Path

    @property
    def is_there(self) -> bool:
        return self.path.exists()


@dataclass(frozen=True, slots=True)
class RemoteCache:
    """The cache in a folder, which several processes may share."""

    folder: Path

    def snapshot_folder(self, repository: str, commit: str) -> Path:
        """Where a repository's files at a commit lie as they do in it."""
        return self._repository(repository) / "snapshots" / commit

    def folders(self) -> list[Path]:
        """The folders of all places that something is kept of."""
        return [
            *self.folder.glob("hub/models--*"),
            *(path for path in self.folder.glob("web/*") if _is_digest(path.name)),
        ]

    def folder_of(self, place: RemotePlace) -> Path:
        """Where all is that is kept of a place: of a repository, at every commit."""
        return self._repository(place.repository) if isinstance(place, HubPlace) else self.web_path(place).parent

    def hub_file(self, snapshot: Snapshot, path: str, owner: str) -> CachedFile:
        """A file of a repository."""
        remote = snapshot.remote_file(path, owner)
        repository = self._repository(snapshot.repository)
        name = remote.digest.hex
        return CachedFile(
            remote,
            blob=repository / "blobs" / name,
            path=self.snapshot_folder(snapshot.repository, snapshot.commit) / path,
            lock=self.folder / "hub" / ".locks" / repository.name / f"{name}.lock",
        )

    def web_path(self, place: WebPlace) -> Path:
        """Where a file by https lies. Alone in its folder, so that nothing lies beside it by chance."""
        return self.folder / "web" / place.sha256 / place.name

    def web_file(self, place: WebPlace, size: int, owner: str) -> CachedFile:
        """A file by https."""
        path = self.web_path(place)
        remote = RemoteFile(owner, place.url, size, ContentDigest(DigestKind.SHA256, place.sha256))
        return CachedFile(remote, path, path, self.folder / "web" / ".locks" / f"{place.sha256}.lock")

    def fetch(self, client: httpx2.Client, file: CachedFile, advance: Advance) -> None:
        """Brings a file to its path, and tells `advance` of all its bytes. Raises as fetch_file does."""
        fetch_file(client, file.remote, file.blob, file.lock, advance)
        if file.path != file.blob:
            link(file.path, file.blob)

    def listing(self, repository: str, commit: str) -> Snapshot | None:
        """What a repository holds at a commit, if that is known here."""
        try:
            files = json.loads(self._listing(repository, commit).read_bytes())
        except (FileNotFoundError, ValueError):  # not there, or what a disk kept of it when its power went
            return None
        return Snapshot(
            repository,
            commit,
            {
                path: HubFile(size, ContentDigest(DigestKind(kind), digest))
                for path, (size, kind, digest) in files.items()
            },
        )

    def keep_listing(self, snapshot: Snapshot) -> None:
        """Keeps what a repository holds, so that its cached files are found without asking the Hub."""
        files: Mapping[str, object] = {
            path: (file.size, file.digest.kind, file.digest.hex) for path, file in snapshot.files.items()
        }
        target = self._listing(snapshot.repository, snapshot.commit)
        pending = target.with_name(f".{secrets.token_hex(8)}.pending")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            pending.write_text(json.dumps(files))
            pending.replace(target)
        except OSError as error:
            raise _refused("a folder that takes files", error) from error

    @contextmanager
    def passing_folder(self) -> Iterator[Path]:
        """A folder in the cache for as long as the block runs. Those that killed processes left go with the next one.

        Raises OutputError.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for left in self.folder.glob(f"{_PASSING}*"):
                with suppress(FileNotFoundError):  # somebody else was faster
                    if time.time() - left.stat().st_mtime > _PASSING_SECONDS:
                        shutil.rmtree(left, ignore_errors=True)
            folder = TemporaryDirectory(prefix=_PASSING, dir=self.folder)
        except OSError as error:
            raise _refused("a folder that takes files", error) from error
        with folder as made:
            yield Path(made)

    def set_aside(self, folder: Path) -> Path:
        """Takes the folder of a place out of the cache, at once, and what a repository was known to hold. Where it is
        then, to be removed."""
        aside = self.folder / f"{_PASSING}{secrets.token_hex(8)}"
        folder.rename(aside)
        shutil.rmtree(self.folder / "listings" / folder.name, ignore_errors=True)
        return aside

    def _repository(self, repository: str) -> Path:
        return self.folder / "hub" / repo_folder_name(repo_id=repository, repo_type="model")

    def _listing(self, repository: str, commit: str) -> Path:
        return self.folder / "listings" / repo_folder_name(repo_id=repository, repo_type="model") / f"{commit}.json"


def _is_digest(name: str) -> bool:
    return re.fullmatch("[0-9a-f]{64}", name) is not None


def link(path: Path, target: Path) -> None:
    """Makes `path` a link to `target`, unless it is there. Raises OutputError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            path.symlink_to(os.path.relpath(target, path.parent))
    except OSError as error:
        raise _refused("a file system with links", error) from error


def _refused(expected: str, error: OSError) -> OutputError:
    return OutputError("cache of fetched files", expected=expected, found=str(error.strerror))
