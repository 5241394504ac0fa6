"""One file from its address into its place: taken up where it was left, and there only once its content is right."""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path
from typing import Protocol

import httpx2
from filelock import FileLock, Timeout

from schemas.errors import FetchError, OutputError, SourceError
from workers.engine.container.output_file import sync_folder
from workers.remote.client import told_of

BLOCK_BYTES = 1 << 20
MAX_FILE_BYTES = 2**63 - 1
"""What hosts say of more than any file system holds is not believed."""

MAX_FAILURES = 5
"""Interruptions in a row, without a byte between them, that a download survives."""

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 16.0
_LOCK_SECONDS = 0.5
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})

Advance = Callable[[int], None]
"""Told of bytes that have come, less than 0 where some are thrown away. Raises CancelledError to stop the download."""


class DigestKind(StrEnum):
    """What a content is known by: its SHA-256, or the name that git gives it."""

    SHA256 = "sha256"
    GIT_BLOB = "git-blob"


class _Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...
    def hexdigest(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ContentDigest:
    """A digest in lowercase hexadecimal, by which a content is known before it is there."""

    kind: DigestKind
    hex: str

    def start(self, size: int) -> _Hash:
        """A hash for a content of that size."""
        if self.kind is DigestKind.SHA256:
            return hashlib.sha256()
        return hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)

    def __str__(self) -> str:
        return f"{'SHA-256' if self.kind is DigestKind.SHA256 else 'git blob'} {self.hex}"


def _no_headers() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file that may be fetched. `owner` says in messages whose it is; `headers` makes those of its requests, which
    may hold a token and are therefore kept nowhere."""

    owner: str
    url: str
    size: int
    digest: ContentDigest
    headers: Callable[[], Mapping[str, str]] = field(default=_no_headers, repr=False, compare=False)


def fetch_file(client: httpx2.Client, file: RemoteFile, target: Path, lock: Path, advance: Advance) -> None:
    """Fetches a file to `target`, unless it is there. Bytes gather beside it in `<name>.incomplete`, where the next
    call goes on. Of several processes that want the same file one fetches it, and the others wait.

    Raises SourceError for a content of another size or digest and for what is refused, FetchError where the host does
    not give it, OutputError where the disk does not take it, and what `advance` raises.
    """
    try:
        for folder in (target.parent, lock.parent):
            folder.mkdir(parents=True, exist_ok=True)
        with _held(lock, advance):
            if target.exists():
                advance(file.size)
                return
            partial = _partial(target)
            _Download(client, file, partial, advance).run()
            partial.replace(target)
            sync_folder(target.parent)
    except OSError as error:
        found = "no room" if error.errno in (errno.ENOSPC, errno.EDQUOT) else str(error.strerror)
        raise OutputError(f"{file.owner}, cache", expected="a folder that takes the file", found=found) from error


def partial_bytes(target: Path) -> int:
    """How much of a file that is to come to `target` is there already."""
    try:
        return _partial(target).stat().st_size
    except OSError:
        return 0


def _partial(target: Path) -> Path:
    return target.with_name(f"{target.name}.incomplete")


@contextmanager
def _held(lock: Path, advance: Advance) -> Iterator[None]:
    """Holds the lock, which ends with the process. Who waits for it may be stopped."""
    held = FileLock(lock)
    while True:
        advance(0)
        try:
            held.acquire(timeout=_LOCK_SECONDS)
        except Timeout:
            continue
        try:
            yield
        finally:
            held.release()
        return


class _Download:
    """The bytes of one file on their way. Writes are positioned: a second writer, where locks do not hold, would write
    the same bytes to the same places."""

    def __init__(self, client: httpx2.Client, file: RemoteFile, partial: Path, advance: Advance) -> None:
        self._client = client
        self._file = file
        self._partial = partial
        self._advance = advance
        self._descriptor = -1
        self._hash = file.digest.start(file.size)
        self._done = 0

    def run(self) -> None:
        self._descriptor = os.open(self._partial, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            self._take_up()
            taken_up = self._done
            self._complete()
            if self._hash.hexdigest() != self._file.digest.hex and taken_up:
                self._begin_anew()  # what an earlier process left may be what a disk kept of it
                self._complete()
            self._require_digest()
            os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)

    def _take_up(self) -> None:
        if os.fstat(self._descriptor).st_size > self._file.size:
            os.ftruncate(self._descriptor, 0)
        while block := os.pread(self._descriptor, BLOCK_BYTES, self._done):
            self._count(block)

    def _begin_anew(self) -> None:
        os.ftruncate(self._descriptor, 0)
        self._advance(-self._done)
        self._done = 0
        self._hash = self._file.digest.start(self._file.size)

    def _complete(self) -> None:
        failures = 0
        while self._done < self._file.size:
            before = self._done
            try:
                with told_of(self._file.owner):
                    self._stream()
            except FetchError:
                failures = failures + 1 if self._done == before else 1
                if failures > MAX_FAILURES:
                    raise
                self._pause(min(FIRST_PAUSE * 2 ** (failures - 1), LONGEST_PAUSE))

    def _stream(self) -> None:
        headers = {**self._file.headers(), "Accept-Encoding": "identity"}
        if self._done:
            headers["Range"] = f"bytes={self._done}-"
        with self._client.stream("GET", self._file.url, headers=headers) as response:
            require_content(response, self._file.owner, self._done)
            if response.status_code == HTTPStatus.OK and self._done:
                self._begin_anew()
            for block in response.iter_bytes(BLOCK_BYTES):
                if self._done + len(block) > self._file.size:
                    raise SourceError(self._file.owner, expected=f"{self._file.size} bytes", found="more")
                self._write(block)
                self._count(block)
        if self._done < self._file.size:
            raise FetchError(self._file.owner, expected=f"{self._file.size} bytes", found=f"the end after {self._done}")

    def _write(self, block: bytes) -> None:
        view, start = memoryview(block), self._done
        while view:
            count = os.pwrite(self._descriptor, view, start)
            view, start = view[count:], start + count

    def _count(self, block: bytes) -> None:
        self._hash.update(block)
        self._done += len(block)
        self._advance(len(block))

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._advance(0)
            time.sleep(min(left, _LOCK_SECONDS))

    def _require_digest(self) -> None:
        found = self._hash.hexdigest()
        if found != self._file.digest.hex:
            self._partial.unlink(missing_ok=True)
            raise SourceError(self._file.owner, expected=str(self._file.digest), found=found)


def require_content(response: httpx2.Response, owner: str, start: int = 0) -> None:
    """Raises SourceError or FetchError for an answer that does not carry the content from byte `start` on."""
    status = response.status_code
    if status == HTTPStatus.PARTIAL_CONTENT:
        found = response.headers.get("Content-Range", "")
        if not found.startswith(f"bytes {start}-"):
            raise FetchError(owner, expected=f"the bytes from {start} on", found=f"Content-Range {found!r}")
    elif status != HTTPStatus.OK:
        raise status_error(owner, status)


def status_error(owner: str, status: int) -> SourceError | FetchError:
    """What an answer without the content means."""
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return SourceError(owner, expected="a file that may be read", found=f"status {status}")
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        return SourceError(owner, expected="a file", found=f"none there (status {status})")
    if status in _TRANSIENT:
        return FetchError(owner, expected="an answer with the file", found=f"status {status}")
    return SourceError(owner, expected="an answer with the file", found=f"status {status}")
