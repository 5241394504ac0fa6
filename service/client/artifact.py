"""The artifact of a job as a client of the service sees it: its manifest, and its files in whole or from a byte on."""

from __future__ import annotations

import re
from uuid import UUID

import httpx

from schemas.errors import ServiceError, VerificationError
from schemas.interface import ArtifactManifest, ManifestPart
from service.client.connection import Connection, answering, refusal
from service.client.partial_files import PartialFile
from workers.engine.steps import Observer

_DIGEST = re.compile(r"[0-9a-f]{64}")
_AGAIN = "; run the command again to take it up there"


class RemoteArtifact:
    """The artifact of one job."""

    def __init__(self, connection: Connection, job: UUID) -> None:
        self._connection = connection
        self._path = f"v1/jobs/{job}/artifact"

    def manifest(self) -> ArtifactManifest:
        """The files of the artifact. Raises ServiceError for none, or for one that no artifact has."""
        path = f"{self._path}/manifest"
        manifest = self._connection.ask("GET", path, ArtifactManifest)
        _require_sound(manifest, self._connection.where(path))
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
        where = self._connection.where(path)
        begun = {"Range": f"bytes={partial.size}-", "If-Range": f'"{part.sha256}"'} if partial.size else {}
        fetched = 0
        with answering(where, _AGAIN), self._connection.stream(path, begun) as answer:
            _require_file(answer, part, partial, where)
            observer.advanced(part.index, partial.size)
            for data in answer.iter_bytes():  # as it comes: gathered into blocks it would be lost with the connection
                if partial.size + len(data) > part.bytes:
                    raise ServiceError(where, expected=f"{part.bytes} bytes, as the manifest says", found="more")
                partial.append(data)
                fetched += len(data)
                observer.advanced(part.index, len(data))
        if partial.size < part.bytes:
            raise ServiceError(where, expected=f"{part.bytes} bytes", found=f"{partial.size} bytes{_AGAIN}")
        return fetched


def _require_file(answer: httpx.Response, part: ManifestPart, partial: PartialFile, where: str) -> None:
    """Raises ServiceError for an answer that is neither the rest of the file nor the whole of it, before which the
    partial file is emptied."""
    if answer.status_code not in {httpx.codes.OK, httpx.codes.PARTIAL_CONTENT}:
        answer.read()
        raise refusal(where, answer)
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
