"""A file comes whole and right, or not at all; what has come of it is not fetched again."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha1, sha256
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from filelock import FileLock

from schemas.errors import CancelledError, FetchError, OutputError, SourceError
from tests.remote.hub_server import HubServer
from workers.remote import download
from workers.remote.client import checked_client
from workers.remote.download import Advance, ContentDigest, DigestKind, RemoteFile, fetch_file
from workers.remote.hosts import SourceHosts

CONTENT = np.random.default_rng(5).bytes(300_000)
BLOCK = 1 << 16


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "BLOCK_BYTES", BLOCK)


@pytest.fixture
def client(hub: HubServer) -> Iterator[httpx2.Client]:
    hub.files["/file"] = CONTENT
    with checked_client(SourceHosts((), (hub.host,))) as client:
        yield client


class Fetch:
    """A file of the server and where it is to go."""

    def __init__(self, hub: HubServer, folder: Path, content: bytes = CONTENT) -> None:
        digest = ContentDigest(DigestKind.SHA256, sha256(content).hexdigest())
        self.file = RemoteFile("source base", f"{hub.url}/file", len(content), digest)
        self.target = folder / "blobs" / "name"
        self.partial = folder / "blobs" / "name.incomplete"
        self.lock = folder / "locks" / "name"
        self.told = 0

    def run(self, client: httpx2.Client, advance: Advance | None = None) -> None:
        fetch_file(client, self.file, self.target, self.lock, advance or self.count)

    def count(self, count: int) -> None:
        self.told += count

    def stop_after(self, limit: int) -> Advance:
        def advance(count: int) -> None:
            self.count(count)
            if self.told >= limit:
                raise CancelledError("test", expected="to go on", found="a stop")

        return advance


def test_a_file_comes_once(client: httpx2.Client, hub: HubServer, tmp_path: Path) -> None:
    fetch = Fetch(hub, tmp_path)
    fetch.run(client)
    assert (fetch.target.read_bytes(), fetch.told) == (CONTENT, len(CONTENT))
    fetch.run(client)
    assert (fetch.told, len(hub.requests)) == (2 * len(CONTENT), 1)
    assert [path.name for path in fetch.target.parent.iterdir()] == ["name"]


def test_a_file_of_git(client: httpx2.Client, hub: HubServer, tmp_path: Path) -> None:
    fetch = Fetch(hub, tmp_path)
    name = sha1(b"blob %d\0" % len(CONTENT) + CONTENT, usedforsecurity=False).hexdigest()
    fetch.file = RemoteFile("b", fetch.file.url, len(CONTENT), ContentDigest(DigestKind.GIT_BLOB, name))
    fetch.run(client)
    assert fetch.target.read_bytes() == CONTENT


def test_a_stop_keeps_what_has_come_and_the_next_call_goes_on(
    client: httpx2.Client, hub: HubServer, tmp_path: Path
) -> None:
    fetch = Fetch(hub, tmp_path)
    with pytest.raises(CancelledError):
        fetch.run(client, fetch.stop_after(2 * BLOCK))
    assert not fetch.target.exists()
    assert fetch.partial.read_bytes() == CONTENT[: 2 * BLOCK]
    fetch.told = 0
    fetch.run(client)
    assert hub.requests[-1].range == f"bytes={2 * BLOCK}-"
    assert (fetch.target.read_bytes(), fetch.told) == (CONTENT, len(CONTENT))


def test_a_connection_that_breaks_is_followed_by_another(client: httpx2.Client, hub: HubServer, tmp_path: Path) -> None:
    hub.cuts = [100_000, 0, 0, 50_000]
    fetch = Fetch(hub, tmp_path)
    fetch.run(client)
    assert (fetch.target.read_bytes(), fetch.told) == (CONTENT, len(CONTENT))
    ranges = [one.range for one in hub.requests]
    assert len(ranges) == 5
    assert ranges[0] is None
    assert all(one is not None for one in ranges[1:])


def test_a_host_that_breaks_off_every_time(client: httpx2.Client, hub: HubServer, tmp_path: Path) -> None:
    hub.cuts = [100_000] + [0] * 20
    fetch = Fetch(hub, tmp_path)
    with pytest.raises(FetchError, match=r"^source base: expected "):
        fetch.run(client)
    assert len(hub.requests) == 1 + download.MAX_FAILURES
    kept = fetch.partial.read_bytes()
    assert kept
    assert CONTENT.startswith(kept)


def test_a_host_without_ranges_begins_anew(client: httpx2.Client, hub: HubServer, tmp_path: Path) -> None:
    hub.ranges, hub.cuts = False, [100_000]
    fetch = Fetch(hub, tmp_path)
    fetch.run(client)
    assert (fetch.target.read_bytes(), fetch.told) == (CONTENT, len(CONTENT))


@pytest.mark.parametrize("left", [b"other bytes" * 100, CONTENT[:-1] + b"x", CONTENT + b"more", CONTENT])
def test_whatever_an_earlier_process_left_is_checked(
    client: httpx2.Client, hub: HubServer, tmp_path: Path, left: bytes
) -> None:
    fetch = Fetch(hub, tmp_path)
    fetch.partial.parent.mkdir()
    fetch.partial.write_bytes(left)
    fetch.run(client)
    assert (fetch.target.read_bytes(), fetch.told) == (CONTENT, len(CONTENT))
    assert bool(hub.requests) == (left != CONTENT)


@pytest.mark.parametrize("served", [b"x" + CONTENT[1:], CONTENT[:-1], CONTENT + b"x", b""])
def test_another_content_is_refused(client: httpx2.Client, hub: HubServer, tmp_path: Path, served: bytes) -> None:
    hub.files["/file"] = served
    fetch = Fetch(hub, tmp_path)
    with pytest.raises((SourceError, FetchError), match=r"^source base: expected "):
        fetch.run(client)
    assert not fetch.target.exists()


def test_a_wrong_digest_is_told_and_its_bytes_are_gone(client: httpx2.Client, hub: HubServer, tmp_path: Path) -> None:
    served = b"x" + CONTENT[1:]
    hub.files["/file"] = served
    fetch = Fetch(hub, tmp_path)
    with pytest.raises(SourceError) as refused:
        fetch.run(client)
    digests = f"expected SHA-256 {sha256(CONTENT).hexdigest()}, found {sha256(served).hexdigest()}"
    assert str(refused.value) == f"source base: {digests}"
    assert not fetch.partial.exists()


@pytest.mark.parametrize("status", [401, 403, 404, 410, 418])
def test_what_a_host_refuses_is_not_asked_for_again(
    client: httpx2.Client, hub: HubServer, tmp_path: Path, status: int
) -> None:
    hub.status = status
    with pytest.raises(SourceError, match=f"status {status}"):
        Fetch(hub, tmp_path).run(client)
    assert len(hub.requests) == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_host_is_asked_again(client: httpx2.Client, hub: HubServer, tmp_path: Path, status: int) -> None:
    hub.status = status
    with pytest.raises(FetchError, match=f"status {status}"):
        Fetch(hub, tmp_path).run(client)
    assert len(hub.requests) == 1 + download.MAX_FAILURES


def test_of_several_that_want_a_file_one_fetches_it(client: httpx2.Client, hub: HubServer, tmp_path: Path) -> None:
    hub.pause = 0.01
    fetches = [Fetch(hub, tmp_path) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda one: one.run(client), fetches))
    assert [one.told for one in fetches] == [len(CONTENT)] * 4
    assert len(hub.requests) == 1


def test_who_waits_for_another_can_be_stopped(client: httpx2.Client, hub: HubServer, tmp_path: Path) -> None:
    fetch = Fetch(hub, tmp_path)
    fetch.lock.parent.mkdir()
    asked = threading.Event()

    def advance(count: int) -> None:
        assert count == 0
        if asked.is_set():
            raise CancelledError("test", expected="to go on", found="a stop")
        asked.set()

    with FileLock(fetch.lock), ThreadPoolExecutor(1) as pool, pytest.raises(CancelledError):
        pool.submit(fetch.run, client, advance).result(30)
    assert hub.requests == []


def test_a_full_disk(client: httpx2.Client, hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", no_room)
    with pytest.raises(OutputError, match=r"^source base, cache: expected .*, found no room$"):
        Fetch(hub, tmp_path).run(client)
