"""The HTTP client for everything remote: every request and redirect is to a listed host, at a checked address."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import httpcore2
import httpx2

from schemas.errors import FetchError, SourceError
from workers.remote.hosts import HostRefusedError, SourceHosts

CONNECT_SECONDS = 10.0
READ_SECONDS = 30.0
MAX_REDIRECTS = 5
MAX_CONNECTIONS = 16
MAX_ANSWER_BYTES = 64 << 20
"""Of an answer that is taken whole into memory."""

# Addresses of files carry signatures where a host redirects to its store of large ones.
logging.getLogger("httpx2").setLevel(logging.WARNING)


class _CheckedBackend(httpcore2.NetworkBackend):
    """Connects to the very addresses that were checked: a name is resolved once, so that no second answer counts."""

    def __init__(self, hosts: SourceHosts) -> None:
        self._hosts = hosts
        self._plain = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        failure: Exception = httpcore2.ConnectError("no address")
        try:
            addresses = self._hosts.addresses(host, port)
        except OSError as error:
            raise httpcore2.ConnectError(f"the name is not resolved: {error.strerror}") from error
        for address in addresses:
            try:
                return self._plain.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure


class _CheckedTransport(httpx2.HTTPTransport):
    """Refuses requests to hosts that are not listed, and redirects from https to http."""

    def __init__(self, hosts: SourceHosts, context: ssl.SSLContext) -> None:
        # In place of the parent's own pool: one that could be reached around the checked backend never exists.
        self._hosts = hosts
        self._pool = httpcore2.ConnectionPool(
            ssl_context=context, max_connections=MAX_CONNECTIONS, network_backend=_CheckedBackend(hosts)
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self._hosts.require(request.url)
        response = super().handle_request(request)
        target = response.headers.get("Location")
        if target is not None and request.url.scheme == "https" and request.url.join(target).scheme == "http":
            response.close()
            raise HostRefusedError(
                f"host {request.url.host}", expected="redirects by https", found="one from https to http"
            )
        return response


class _BoundedTransport(_CheckedTransport):
    """For who takes answers whole: refuses what is long, and what is compressed, which may be long once it is not."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["Accept-Encoding"] = "identity"
        response = super().handle_request(request)
        encoding, where = response.headers.get("Content-Encoding", "identity"), f"host {request.url.host}"
        if encoding != "identity":
            response.close()
            raise HostRefusedError(where, expected="an answer as it is", found=f"one in {encoding}")
        if not isinstance(response.stream, httpx2.SyncByteStream):
            raise TypeError(f"expected a stream to be read, found {type(response.stream)}")
        response.stream = _BoundedStream(response.stream, where)
        return response


class _BoundedStream(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, where: str) -> None:
        self._stream = stream
        self._where = where

    def __iter__(self) -> Iterator[bytes]:
        total = 0
        for part in self._stream:
            total += len(part)
            if total > MAX_ANSWER_BYTES:
                expected = f"an answer of at most {MAX_ANSWER_BYTES} bytes"
                raise HostRefusedError(self._where, expected=expected, found="more")
            yield part

    def close(self) -> None:
        self._stream.close()


def checked_client(hosts: SourceHosts, *, bounded: bool = False) -> httpx2.Client:
    """A client that asks these hosts only, and where it is `bounded`, takes no answer of more than MAX_ANSWER_BYTES.

    Proxies and passwords of the environment are left aside, since they would lead around the checks.
    """
    transport = _BoundedTransport if bounded else _CheckedTransport
    return httpx2.Client(
        transport=transport(hosts, httpx2.create_ssl_context()),
        trust_env=False,
        follow_redirects=True,
        max_redirects=MAX_REDIRECTS,
        timeout=httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
    )


@contextmanager
def told_of(owner: str) -> Iterator[None]:
    """Tells what goes wrong while something is fetched in words that `owner` begins.

    Raises SourceError for what is refused, FetchError for a host that does not answer as it should.
    """
    try:
        yield
    except HostRefusedError as error:
        raise SourceError(f"{owner}, {error.where}", expected=error.expected, found=error.found) from error
    except httpx2.TooManyRedirects:
        raise SourceError(owner, expected=f"at most {MAX_REDIRECTS} redirects", found="more") from None
    except (httpx2.UnsupportedProtocol, httpx2.InvalidURL):
        raise SourceError(owner, expected="addresses by https", found="another one") from None
    except httpx2.TimeoutException as error:
        raise FetchError(owner, expected="an answer in time", found=_words(error)) from None
    except httpx2.TransportError as error:
        raise FetchError(owner, expected="an answer", found=_words(error)) from None


def _words(error: httpx2.TransportError) -> str:
    try:
        host = f" from {error.request.url.host}"
    except RuntimeError:
        host = ""
    return f"{str(error) or 'none'}{host}"
