"""The artifact of a job as a client of the service sees it: its manifest, and its files in whole or from a byte on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import httpx
from pydantic import ValidationError

from schemas.errors import ServiceError, VerificationError
from schemas.interface import ArtifactManifest, ManifestPart
from schemas.problems import Problem
from service.cli.partial_files import PartialFile
from workers.engine.steps import Observer

_TIMEOUT = httpx.Timeout(60, connect=10)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_AGAIN = "run the command again to take it up there"


class ArtifactClient:
    """Requests for the artifact of one job, each with the token if there is one."""

    def __init__(self, service: str, job: UUID, token: str | None = None) -> None:
        headers = {"Accept-Encoding": "identity"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self._client = httpx.Client(base_url=service, timeout=_TIMEOUT, headers=headers, follow_redirects=False)
        self._path = f"v1/jobs/{job}/artifact"

    def close(self) -> None:
        self._client.close()

    def manifest(self) -> ArtifactManifest:
        """The files of the artifact. Raises ServiceError for none, or for one that no artifact has."""
        path = f"{self._path}/manifest"
        where = self._where(path)
        with _answering(where):
            answer = self._client.get(path)
        if answer.status_code != httpx.codes.OK:
            raise _refusal(where, answer)
        try:
            manifest = ArtifactManifest.model_validate_json(answer.content)
        except ValidationError as error:
            first = error.errors()[0]
            at = "/".join(map(str, first["loc"]))
            found = f"another document, first at {at!r}: {first['msg']}"
            raise ServiceError(where, expected="the manifest of an artifact", found=found) from None
        _require_sound(manifest, where)
        return manifest

    def complete(self, part: ManifestPart, partial: PartialFile, observer: Observer) -> int:
        """Fetches what a partial file lacks; how many bytes that was.

        Where the service has another file by now than the one that was begun, or gives no ranges, all of it comes
        again. Raises ServiceError where the service or the connection fails, and what came stays; VerificationError
        for bytes of another SHA-256, and none of them stays.
        """
        if partial.size > part.bytes:
            partial.restart()
        fetched = 0
        if partial.size < part.bytes:
            fetched = self._receive(part, partial, observer)
        else:
            observer.advanced(part.index, partial.size)
        if partial.sha256 != part.sha256:
            found = f"{partial.sha256}, of which nothing is kept"
            partial.path.unlink()
            raise VerificationError(part.name, expected=f"bytes with the SHA-256 {part.sha256}", found=found)
        partial.make_durable()
        return fetched

    def _receive(self, part: ManifestPart, partial: PartialFile, observer: Observer) -> int:
        path = f"{self._path}/parts/{part.index}"
        where = self._where(path)
        begun = {"Range": f"bytes={partial.size}-", "If-Range": f'"{part.sha256}"'} if partial.size else {}
        fetched = 0
        with _answering(where), self._client.stream("GET", path, headers=begun) as answer:
            _require_file(answer, part, partial, where)
            observer.advanced(part.index, partial.size)
            for data in answer.iter_bytes():  # as it comes: gathered into blocks it would be lost with the connection
                if partial.size + len(data) > part.bytes:
                    raise ServiceError(where, expected=f"{part.bytes} bytes, as the manifest says", found="more")
                partial.append(data)
                fetched += len(data)
                observer.advanced(part.index, len(data))
        if partial.size < part.bytes:
            raise ServiceError(where, expected=f"{part.bytes} bytes", found=f"{partial.size} bytes; {_AGAIN}")
        return fetched

    def _where(self, path: str) -> str:
        return str(self._client.base_url.copy_with(userinfo=b"").join(path))


def _require_file(answer: httpx.Response, part: ManifestPart, partial: PartialFile, where: str) -> None:
    """Raises ServiceError for an answer that is neither the rest of the file nor the whole of it, before which the
    partial file is emptied."""
    if answer.status_code not in {httpx.codes.OK, httpx.codes.PARTIAL_CONTENT}:
        answer.read()
        raise _refusal(where, answer)
    tag = answer.headers.get("etag")
    if tag not in {None, f'"{part.sha256}"'}:
        expected = f"the file that the manifest tells of, with the ETag {part.sha256}"
        raise ServiceError(where, expected=expected, found=f"the ETag {tag}")
    if answer.status_code == httpx.codes.OK:
        partial.restart()
        return
    expected = f"bytes {partial.size}-{part.bytes - 1}/{part.bytes}"
    found = answer.headers.get("content-range", "none")
    if found != expected:
        raise ServiceError(where, expected=f"the range {expected!r}", found=repr(found))


def _require_sound(manifest: ArtifactManifest, where: str) -> None:
    """Raises ServiceError for names that lead elsewhere or twice to one file, and for what is no SHA-256 or size."""
    parts = manifest.parts
    for number, part in enumerate(parts):
        plain = part.name not in ("", ".", "..") and not {"/", "\\", "\0"}.intersection(part.name)
        if not plain or not _DIGEST.fullmatch(part.sha256) or part.bytes < 1 or part.index != number:
            expected = "files with plain names, sizes and SHA-256, counted from 0"
            raise ServiceError(f"{where}, part {number}", expected=expected, found=repr(part))
    if not parts or len({part.name for part in parts}) != len(parts):
        found = ", ".join(part.name for part in parts) or "none"
        raise ServiceError(where, expected="files of different names", found=found)


def _refusal(where: str, answer: httpx.Response) -> ServiceError:
    try:
        detail = Problem.model_validate_json(answer.content).detail
    except ValidationError:
        detail = answer.reason_phrase
    return ServiceError(where, expected="what was asked for", found=f"{answer.status_code}: {detail}")


@contextmanager
def _answering(where: str) -> Iterator[None]:
    try:
        yield
    except httpx.HTTPError as error:
        found = f"{str(error) or type(error).__name__}; {_AGAIN}"
        raise ServiceError(where, expected="an answer, and all of it", found=found) from None
