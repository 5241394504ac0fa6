"""What a repository of the Hugging Face Hub holds at one commit, through huggingface_hub.

The library's own downloads begin anew after every interruption and check no content, so of it this takes the listing,
with sizes and digests, the addresses and the token; bytes come by workers/remote/download.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from threading import Lock

from huggingface_hub import HfApi, constants, get_token, hf_hub_url, set_client_factory
from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError
from huggingface_hub.hf_api import RepoSibling

from schemas.errors import FetchError, SourceError
from workers.remote.client import READ_SECONDS, checked_client, told_of
from workers.remote.download import MAX_FILE_BYTES, ContentDigest, DigestKind, RemoteFile, status_error
from workers.remote.hosts import SourceHosts, hub_endpoint
from workers.remote.places import HubPlace, is_plain_path

constants.HF_HUB_DISABLE_TELEMETRY = True  # nothing is sent but what sources take

_installing = Lock()
_COMMIT = re.compile(r"[0-9a-f]{40}")
_DIGESTS = {DigestKind.SHA256: re.compile(r"[0-9a-f]{64}"), DigestKind.GIT_BLOB: _COMMIT}


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a repository at a commit."""

    size: int
    digest: ContentDigest


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of a repository at a commit, by their paths in it."""

    repository: str
    commit: str
    files: Mapping[str, HubFile]

    def remote_file(self, path: str, owner: str) -> RemoteFile:
        """The file at `path`, which is there, as it may be fetched."""
        url = hf_hub_url(self.repository, path, revision=self.commit, endpoint=hub_endpoint())
        found = self.files[path]
        return RemoteFile(f"{owner}, file {path}", url, found.size, found.digest, _hub_headers)


def list_snapshot(place: HubPlace, revision: str, hosts: SourceHosts, owner: str) -> Snapshot:
    """Asks the Hub what a repository holds at a revision.

    Raises SourceError where there is none that may be read, FetchError where the Hub does not answer.
    """
    with told_of(owner), _told_by_hub(place, owner):
        with _installing:  # the library closes the client that it has, which another thread may be using
            _install_client(hosts)
        info = HfApi(endpoint=hub_endpoint(), library_name="ninforge").model_info(
            place.repository, revision=revision, files_metadata=True, timeout=READ_SECONDS
        )
    commit, siblings = info.sha, info.siblings
    if commit is None or not _COMMIT.fullmatch(commit) or (_COMMIT.fullmatch(revision) and commit != revision):
        raise SourceError(owner, expected=f"the commit that {revision} stands for", found=repr(commit))
    files = {one.rfilename: _hub_file(one, owner) for one in siblings or () if is_plain_path(one.rfilename)}
    return Snapshot(place.repository, commit, files)


def _hub_file(found: RepoSibling, owner: str) -> HubFile:
    digest = (
        ContentDigest(DigestKind.SHA256, found.lfs.sha256)
        if found.lfs is not None
        else ContentDigest(DigestKind.GIT_BLOB, found.blob_id or "")
    )
    file = f"{owner}, file {found.rfilename}"
    if not isinstance(found.size, int) or found.size < 0 or not _DIGESTS[digest.kind].fullmatch(digest.hex):
        raise SourceError(file, expected="its size and digest", found="not both")
    if found.size > MAX_FILE_BYTES:
        raise SourceError(file, expected=f"at most {MAX_FILE_BYTES} bytes", found="more")
    return HubFile(found.size, digest)


def _hub_headers() -> Mapping[str, str]:
    token = get_token()
    return {} if token is None else {"Authorization": f"Bearer {token}"}


@lru_cache(maxsize=1)
def _install_client(hosts: SourceHosts) -> None:
    """Has huggingface_hub, which knows one client in a process, make its requests through a checked one."""
    set_client_factory(partial(checked_client, hosts, bounded=True))


@contextmanager
def _told_by_hub(place: HubPlace, owner: str) -> Iterator[None]:
    """Tells the library's errors in our words: its own hold addresses and headers."""
    try:
        yield
    except GatedRepoError:
        raise SourceError(
            owner,
            expected=f"{place.repository} to be open, or a HF_TOKEN that was given access to it",
            found="a repository that is closed to it",
        ) from None
    except RevisionNotFoundError:
        raise SourceError(owner, expected=f"the revision {place.revision}", found="none of that name") from None
    except RepositoryNotFoundError:
        raise SourceError(
            owner,
            expected=f"a repository {place.repository} that is public, or that HF_TOKEN may read",
            found="none",
        ) from None
    except HfHubHTTPError as error:
        raise status_error(owner, error.response.status_code) from None
    except (ValueError, KeyError, TypeError):
        raise FetchError(owner, expected="an answer as the Hub gives it", found="another one") from None
