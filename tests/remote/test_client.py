"""Every request, and every redirect of it, goes to a listed host at an address that may be asked."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import httpcore2
import httpx2
import pytest

from schemas.errors import FetchError, SourceError
from tests.remote.hub_server import HubServer, serving
from workers.remote.client import checked_client, told_of
from workers.remote.hosts import HostRefusedError, SourceHosts


@pytest.fixture
def other() -> Iterator[HubServer]:
    """A second server, that nobody is to be led to."""
    with serving(HubServer()) as other:
        other.files["/file"] = b"secret of the network"
        yield other


def refusal(hosts: SourceHosts, url: str) -> str:
    with checked_client(hosts) as client, pytest.raises(HostRefusedError) as refused:
        client.get(url)
    return str(refused.value)


def test_a_listed_host_is_asked(hub: HubServer, secure: HubServer) -> None:
    hub.files["/file"] = b"content"
    with checked_client(SourceHosts((), (hub.host, secure.host))) as client:
        assert client.get(f"{hub.url}/file").content == b"content"
        assert client.get(f"{secure.url}/file").content == b"content"


def test_a_certificate_has_to_be_of_the_host(secure: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"elsewhere.test:{secure.port}"
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", secure.port))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with checked_client(SourceHosts((), (name,))) as client, pytest.raises(httpx2.ConnectError, match="CERTIFICATE"):
        client.get(f"https://{name}/file")


def test_another_host_is_not_even_connected_to(hub: HubServer) -> None:
    told = refusal(SourceHosts(("a.test",), ("b.test",)), f"{hub.url}/file")
    assert told == "host 127.0.0.1: expected a host that NINFORGE_SOURCE_HOSTS lists, found one that it does not"
    assert hub.requests == []


def test_a_listed_host_at_a_private_address_is_not_connected_to(secure: HubServer) -> None:
    hosts = SourceHosts((secure.host, f"localhost:{secure.port}"), ())
    for url in (secure.url, f"https://localhost:{secure.port}"):
        assert "expected public addresses only" in refusal(hosts, f"{url}/file")
    assert secure.requests == []


def test_redirects_are_checked_again(hub: HubServer, other: HubServer, secure: HubServer) -> None:
    hosts = SourceHosts((f"localhost:{secure.port}",), (hub.host,))
    hub.redirects = {
        "/unlisted": f"{other.url}/file",
        "/private": f"https://localhost:{secure.port}/file",
        "/metadata": "http://169.254.169.254/latest",
        "/file-scheme": "file:///etc/passwd",
        "/relative": "/unlisted",
    }
    for path in hub.redirects:
        with checked_client(hosts) as client, pytest.raises(SourceError), told_of("source base"):
            client.get(hub.url + path)
    assert (other.requests, secure.requests) == ([], [])


def test_redirects_do_not_leave_https(secure: HubServer, other: HubServer) -> None:
    secure.redirects["/down"] = f"{other.url}/file"
    assert "found one from https to http" in refusal(SourceHosts((), (secure.host, other.host)), f"{secure.url}/down")
    assert other.requests == []


def test_redirects_end(hub: HubServer) -> None:
    hub.redirects["/again"] = "/again"
    with (
        checked_client(SourceHosts((), (hub.host,))) as client,
        pytest.raises(SourceError, match="at most 5 redirects"),
        told_of("source base"),
    ):
        client.get(f"{hub.url}/again")
    assert len(hub.requests) == 6


def test_the_address_that_was_checked_is_the_one_that_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that answers differently the second time leads nowhere."""
    answers = [["93.184.216.34", "2606:4700::1111"], ["127.0.0.1"]]
    connected: list[str] = []

    def resolve(_: str, port: int, **__: Any) -> list[Any]:
        return [(socket.AF_UNSPEC, socket.SOCK_STREAM, 6, "", (address, port)) for address in answers.pop(0)]

    def connect(_: object, host: str, *__: object) -> None:
        connected.append(host)
        raise httpcore2.ConnectError("refused")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(httpcore2.SyncBackend, "connect_tcp", connect)
    with checked_client(SourceHosts(("mirror.test",), ())) as client, pytest.raises(httpx2.ConnectError):
        client.get("https://mirror.test/file")
    assert connected == ["93.184.216.34", "2606:4700::1111"]
    assert answers == [["127.0.0.1"]]


def test_one_private_address_among_several_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in ("1.1.1.1", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    told = refusal(SourceHosts(("mirror.test",), ()), "https://mirror.test/file")
    assert told == (
        "host mirror.test: expected public addresses only, unless NINFORGE_PRIVATE_SOURCE_HOSTS lists the host, "
        "found one that is private, loopback, link-local or reserved"
    )


def test_a_proxy_of_the_environment_leads_around_nothing(
    hub: HubServer, other: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.files["/file"] = b"content"
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, other.url)
    with checked_client(SourceHosts((), (hub.host,))) as client:
        assert client.get(f"{hub.url}/file").content == b"content"
    assert other.requests == []


def test_a_host_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        host = f"127.0.0.1:{closed.getsockname()[1]}"
    with (
        checked_client(SourceHosts((), (host,))) as client,
        pytest.raises(FetchError, match=r"^source base: expected an answer, found .*refused.* from 127\.0\.0\.1"),
        told_of("source base"),
    ):
        client.get(f"http://{host}/")
    monkeypatch.setattr("workers.remote.client.READ_SECONDS", 0.05)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        checked_client(SourceHosts((), (f"127.0.0.1:{silent.getsockname()[1]}",))) as client,
        pytest.raises(FetchError, match="expected an answer in time"),
        told_of("source base"),
    ):
        client.get(f"http://127.0.0.1:{silent.getsockname()[1]}/")
