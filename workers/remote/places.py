"""What a text means that says where a source is: a path, a repository of the Hub, or one file by https.

```
hf:ORG/NAME[@REVISION][/PATH]        revision main by default; a / in a revision is written %2F, except in refs/pr/N
https://HOST/PATH/FILE#sha256=HEX    the SHA-256 of the file in 64 hexadecimal digits
```
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from httpx2 import URL, InvalidURL
from huggingface_hub import parse_hf_uri
from huggingface_hub.errors import HfUriError

from schemas.errors import SourceError

_HUB = "hf:"
_SHA256 = re.compile(r"sha256=([0-9A-Fa-f]{64})")
_WEB_FORM = "https://HOST/PATH/FILE#sha256=HEX, without user, password and query"
_MAX_NAME = 200
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class HubPlace:
    """A repository of models at a revision, and what in it is meant: `path` is empty for its top folder."""

    repository: str
    revision: str
    path: str

    def __str__(self) -> str:
        return f"{_HUB}{self.repository}@{self.revision}{'/' if self.path else ''}{self.path}"

    @property
    def key(self) -> str:
        """What a commit is recorded for."""
        return f"{self.repository}@{self.revision}"

    @property
    def commit(self) -> str | None:
        """The revision, where it is a whole commit hash: then nothing has to be resolved."""
        return self.revision if _COMMIT.fullmatch(self.revision) else None


@dataclass(frozen=True, slots=True)
class WebPlace:
    """One file by https, with the SHA-256 that it must have, in lower case."""

    url: str
    sha256: str

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        """The file's name, as a name that a file can have."""
        name = unquote(urlsplit(self.url).path).rpartition("/")[2]
        return name if is_plain_path(name) and len(name.encode()) <= _MAX_NAME else "file"


RemotePlace = HubPlace | WebPlace


def is_remote(where: str) -> bool:
    """Whether a text is a URI and not a path."""
    return where.startswith(_HUB) or "://" in where


def parse_remote(where: str, owner: str) -> RemotePlace:
    """The remote place that a URI names. Raises SourceError, which `owner` begins."""
    if where.startswith(_HUB):
        return _hub_place(where, owner)
    return _web_place(where, owner)


def is_plain_path(path: str) -> bool:
    """Whether a path that a server gives stays below the folder that it is relative to."""
    parts = path.split("/")
    return path.isprintable() and "\\" not in path and not any(part in ("", ".", "..") for part in parts)


def _hub_place(where: str, owner: str) -> HubPlace:
    try:
        found = parse_hf_uri(f"hf://{where.removeprefix(_HUB).removeprefix('//')}")
    except HfUriError:
        found = None
    if found is None or found.type != "model" or (found.path_in_repo and not is_plain_path(found.path_in_repo)):
        raise SourceError(owner, expected="hf:ORG/NAME@REVISION, with /PATH after it if wanted", found=repr(where))
    return HubPlace(found.id, found.revision or "main", found.path_in_repo)


def _web_place(where: str, owner: str) -> WebPlace:
    try:
        parts = urlsplit(where)
        port = parts.port
        URL(where)
    except (ValueError, InvalidURL):
        raise SourceError(owner, expected=_WEB_FORM, found="an address with a fault in it") from None
    if parts.scheme != "https":
        raise SourceError(
            owner,
            expected="a path, hf:ORG/NAME@REVISION or https://HOST/FILE#sha256=HEX",
            found=f"a URI of {parts.scheme}",
        )
    if parts.username is not None or parts.password is not None or "?" in where.partition("#")[0]:
        # What is submitted is kept and shown, and secrets go into these parts.
        raise SourceError(owner, expected=_WEB_FORM, found="one of these in the address")
    digest = _SHA256.fullmatch(parts.fragment)
    if not parts.hostname or port == 0 or not PurePosixPath(parts.path).name:
        raise SourceError(owner, expected=_WEB_FORM, found=repr(where))
    if digest is None:
        raise SourceError(owner, expected=_WEB_FORM, found=f"{parts.fragment or 'nothing'!r} after #")
    return WebPlace(where.partition("#")[0], digest[1].lower())
