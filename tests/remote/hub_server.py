"""A server on loopback that speaks the routes of the Hugging Face Hub, and of the store that it redirects large files
to."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha1, sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "hf_" + "secretsecretsecret"
SIGNATURE = "signature-of-the-store"
_PIECE = 1 << 14


@dataclass(frozen=True)
class Seen:
    """A request that came."""

    method: str
    path: str
    authorization: str | None
    range: str | None


@dataclass
class Repository:
    """Files by commit, and which commit each branch is at. A gated one is for the token."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    gated: bool = False

    def commit(self, files: Mapping[str, bytes], branch: str = "main") -> str:
        """Moves the branch to a commit with these files."""
        name = _sha1(repr(sorted((path, sha256(data).hexdigest()) for path, data in files.items())).encode())
        self.commits[name] = dict(files)
        self.branches[branch] = name
        return name


class HubServer:
    """Repositories and plain files behind one port. What a test changes, holds for the requests that come then."""

    def __init__(self, scheme: str = "http", name: str = "127.0.0.1") -> None:
        self.repositories: dict[str, Repository] = {}
        self.files: dict[str, bytes] = {}
        self.redirects: dict[str, str] = {}
        self.requests: list[Seen] = []
        self.store: HubServer = self
        self.ranges = True
        self.cuts: list[int] = []
        """After so many bytes of each of the next contents the connection ends."""
        self.pause = 0.0
        """Seconds between pieces of a content."""
        self.status: int | None = None
        """What every request is answered with instead."""
        self.listing: dict[str, Any] = {}
        """Members of the answers about repositories, instead of the right ones."""
        self.encoding: str | None = None
        """What answers about repositories say that they are compressed with."""
        self.sent = 0
        self._scheme = scheme
        self._name = name
        self.port = 0

    @property
    def host(self) -> str:
        return f"{self._name}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self.host}"

    def repository(self, name: str, files: Mapping[str, bytes]) -> Repository:
        """A new repository with one commit."""
        repository = self.repositories[name] = Repository()
        repository.commit(files)
        return repository

    def contents(self) -> list[Seen]:
        """The requests that asked for the content of a file of a repository or of the store."""
        return [one for one in self.requests if "/resolve/" in one.path or one.path.startswith("/store/")]


@contextmanager
def serving(hub: HubServer, certificate: ssl.SSLContext | None = None) -> Iterator[HubServer]:
    """The server, running."""

    class Handler(_Handler):
        pass

    Handler.hub = hub
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if certificate is not None:
        server.socket = certificate.wrap_socket(server.socket, server_side=True)
    hub.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def folder_files(folder: Path) -> dict[str, bytes]:
    """The files of a folder, as a commit has them."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: HubServer

    def do_GET(self) -> None:
        hub, path = self.hub, urlsplit(self.path).path
        hub.requests.append(Seen(self.command, self.path, self.headers["Authorization"], self.headers["Range"]))
        if hub.status is not None:
            self._answer(hub.status)
        elif path in hub.redirects:
            self._answer(302, {"Location": hub.redirects[path]})
        elif path.startswith("/api/models/"):
            self._tell(*self._names(path.removeprefix("/api/models/"), "/revision/"))
        elif "/resolve/" in path:
            name, revision = self._names(path[1:], "/resolve/")
            self._resolve(name, *revision.split("/", 1))
        elif path in hub.files:
            self._content(hub.files[path])
        else:
            self._answer(404)

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Says nothing."""

    @staticmethod
    def _names(path: str, between: str) -> tuple[str, str]:
        name, _, rest = path.partition(between)
        return name, unquote(rest)

    def _found(self, name: str, revision: str) -> tuple[str, Mapping[str, bytes]] | None:
        repository = self.hub.repositories.get(name)
        if repository is None:
            self._answer(401, {"X-Error-Code": "RepoNotFound"})
            return None
        if repository.gated and self.headers["Authorization"] != f"Bearer {TOKEN}":
            self._answer(401, {"X-Error-Code": "GatedRepo"})
            return None
        commit = repository.branches.get(revision, revision)
        if commit not in repository.commits:
            self._answer(404, {"X-Error-Code": "RevisionNotFound"})
            return None
        return commit, repository.commits[commit]

    def _tell(self, name: str, revision: str) -> None:
        found = self._found(name, revision)
        if found is not None:
            commit, files = found
            siblings = [_sibling(path, data) for path, data in files.items()]
            document = {"id": name, "sha": commit, "siblings": siblings, **self.hub.listing}
            headers = {"Content-Type": "application/json"}
            if self.hub.encoding is not None:
                headers["Content-Encoding"] = self.hub.encoding
            self._answer(200, headers, json.dumps(document).encode())

    def _resolve(self, name: str, revision: str, path: str) -> None:
        found = self._found(name, revision)
        if found is None:
            return
        commit, files = found
        if path not in files:
            self._answer(404, {"X-Error-Code": "EntryNotFound"})
            return
        data = files[path]
        headers = {"X-Repo-Commit": commit, "ETag": f'"{_blob(data)}"'}
        if not _is_large(path):
            self._content(data, headers)
            return
        digest, store = sha256(data).hexdigest(), self.hub.store
        store.files.setdefault(f"/store/{digest}", data)
        headers |= {"X-Linked-Size": str(len(data)), "X-Linked-ETag": f'"{digest}"'}
        self._answer(302, {**headers, "Location": f"{store.url}/store/{digest}?X-Amz-Signature={SIGNATURE}"})

    def _content(self, data: bytes, headers: Mapping[str, str] | None = None) -> None:
        status, start, stop, told = 200, 0, len(data), dict(headers or {})
        asked = self.headers["Range"]
        if asked is not None and self.hub.ranges:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start, stop = int(first), min(len(data), int(last) + 1 if last else len(data))
            status = 206
            told["Content-Range"] = f"bytes {start}-{stop - 1}/{len(data)}"
        cut = self.hub.cuts.pop(0) if self.hub.cuts and self.command == "GET" else None
        self.send_response(status)
        for name, value in {**told, "Content-Length": str(stop - start)}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        end = stop if cut is None else min(stop, start + cut)
        try:
            for at in range(start, end, _PIECE):
                self.wfile.write(data[at : min(at + _PIECE, end)])
                self.hub.sent += min(at + _PIECE, end) - at
                time.sleep(self.hub.pause)
        except OSError:
            cut = 0
        if cut is not None:
            self.close_connection = True

    def _answer(self, status: int, headers: Mapping[str, str] | None = None, body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _is_large(path: str) -> bool:
    return path.endswith((".safetensors", ".bin"))


def _blob(data: bytes) -> str:
    return _sha1(b"blob %d\0" % len(data) + data)


def _sha1(data: bytes) -> str:
    return sha1(data, usedforsecurity=False).hexdigest()


def _sibling(path: str, data: bytes) -> dict[str, Any]:
    described: dict[str, Any] = {"rfilename": path, "size": len(data), "blobId": _blob(data)}
    if _is_large(path):
        described["lfs"] = {"sha256": sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
    return described
