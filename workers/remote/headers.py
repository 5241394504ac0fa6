"""Stand-ins for checkpoint files that are to be planned with: their headers, at the size of the whole."""

from __future__ import annotations

import os
import time
from http import HTTPStatus
from pathlib import Path

import httpx2

from schemas.errors import FetchError, OutputError, SourceError
from workers.engine.sources.safetensors_header import LENGTH_BYTES, MAX_HEADER_BYTES
from workers.remote.client import told_of
from workers.remote.download import BLOCK_BYTES, MAX_FILE_BYTES, Advance, RemoteFile, require_content
from workers.remote.places import WebPlace

_FIRST_BYTES = 1 << 20
_TRIES = 3
_MAX_DIGITS = 100
_PAUSE = 1.0


def fetch_header(client: httpx2.Client, file: RemoteFile, target: Path, advance: Advance) -> None:
    """Makes `target` a sparse file of the file's size that begins with its safetensors header, and tells `advance` of
    the bytes that come.

    Its digest is not checked, for the rest is not there: whoever converts fetches the whole. Raises SourceError,
    FetchError, and OutputError where the file system takes no such file. What begins like no header is left to whoever
    reads it.
    """
    head = _bytes(client, file, 0, _FIRST_BYTES, advance)
    length = LENGTH_BYTES + int.from_bytes(head[:LENGTH_BYTES], "little")
    if len(head) < length <= min(LENGTH_BYTES + MAX_HEADER_BYTES, file.size):
        head += _bytes(client, file, len(head), length, advance)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(head)
        os.truncate(target, file.size)
    except OSError as error:
        expected = f"a file system that takes {file.owner}, of {file.size} bytes, as a sparse file"
        raise OutputError("cache of fetched files", expected=expected, found=str(error.strerror)) from error


def web_size(client: httpx2.Client, place: WebPlace, owner: str) -> int:
    """The size of a file by https. Raises SourceError where the host does not tell it, and FetchError."""
    headers = {"Accept-Encoding": "identity", "Range": "bytes=0-0"}
    with told_of(owner), client.stream("GET", place.url, headers=headers) as response:
        require_content(response, owner)
        partial = response.status_code == HTTPStatus.PARTIAL_CONTENT
        told = response.headers.get("Content-Range", "").rpartition("/")[2] if partial else None
        size = response.headers.get("Content-Length", "") if told is None else told
    if not (size.isascii() and size.isdecimal()):
        raise SourceError(owner, expected="a host that tells the file's size", found=repr(size[:_MAX_DIGITS]))
    digits = size.lstrip("0") or "0"
    if len(digits) > len(str(MAX_FILE_BYTES)) or int(digits) > MAX_FILE_BYTES:
        raise SourceError(owner, expected=f"a file of at most {MAX_FILE_BYTES} bytes", found=digits[:_MAX_DIGITS])
    return int(digits)


def _bytes(client: httpx2.Client, file: RemoteFile, start: int, stop: int, advance: Advance) -> bytes:
    """The bytes from `start` to `stop`, or as many as the file has."""
    stop = min(stop, file.size)
    if start == stop:
        return b""
    for attempt in range(_TRIES):
        advance(0)
        try:
            with told_of(file.owner):
                return _asked(client, file, start, stop, advance)
        except FetchError:
            if attempt == _TRIES - 1:
                raise
            time.sleep(_PAUSE)
    raise AssertionError


def _asked(client: httpx2.Client, file: RemoteFile, start: int, stop: int, advance: Advance) -> bytes:
    headers = {**file.headers(), "Accept-Encoding": "identity", "Range": f"bytes={start}-{stop - 1}"}
    found = bytearray()
    with client.stream("GET", file.url, headers=headers) as response:
        require_content(response, file.owner, start)
        skipped = start if response.status_code == HTTPStatus.OK else 0
        for block in response.iter_bytes(BLOCK_BYTES):
            found += block
            advance(len(block))
            if len(found) >= skipped + stop - start:
                break
    wanted = bytes(found[skipped : skipped + stop - start])
    if len(wanted) < stop - start:
        raise FetchError(file.owner, expected=f"the bytes from {start} to {stop}", found=f"{len(wanted)} of them")
    return wanted
