"""What texts mean that say where a source is, and which hosts and addresses may be asked."""

from __future__ import annotations

import pytest
from httpx2 import URL

from schemas.errors import SourceError
from workers.remote.hosts import HostRefusedError, SourceHosts, is_public
from workers.remote.places import HubPlace, RemotePlace, WebPlace, is_remote, parse_remote
from workers.remote.settings import RemoteSettings

DIGEST = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ("hf:org/name", HubPlace("org/name", "main", "")),
        ("hf:org/name@v1.0", HubPlace("org/name", "v1.0", "")),
        ("hf://org/name@v1.0", HubPlace("org/name", "v1.0", "")),
        ("hf:org/name@refs/pr/3", HubPlace("org/name", "refs/pr/3", "")),
        ("hf:org/name@a%2Fb/sub/folder", HubPlace("org/name", "a/b", "sub/folder")),
        ("hf:org/name@main/tokenizer.json", HubPlace("org/name", "main", "tokenizer.json")),
        (f"https://host/a/b.safetensors#sha256={DIGEST}", WebPlace("https://host/a/b.safetensors", DIGEST)),
        (f"https://host:8443/b#sha256={DIGEST.upper()}", WebPlace("https://host:8443/b", DIGEST)),
    ],
)
def test_places(where: str, place: RemotePlace) -> None:
    assert is_remote(where)
    assert parse_remote(where, "source base") == place


@pytest.mark.parametrize(
    "where",
    [
        "hf:", "hf:name", "hf:a/b/../c", "hf:a/b@", "hf:a/b@x/../../y", "hf:a/b@x//y", "hf:a b/c", "hf:datasets/a/b",
        "hf:a/b@x/y\\z", "ftp://host/file", f"http://host/file#sha256={DIGEST}", "https://host/file",
        f"https://host/file#sha256={DIGEST[1:]}", f"https://host/file#md5={DIGEST}", f"https://host/#sha256={DIGEST}",
        f"https:///file#sha256={DIGEST}", f"https://user:pass@host/file#sha256={DIGEST}",
        f"https://token@host/file#sha256={DIGEST}", f"https://host/file?signature=x#sha256={DIGEST}",
        f"https://host:port/file#sha256={DIGEST}", f"https://[::1/file#sha256={DIGEST}", "s3://bucket/key", "://",
    ],
)  # fmt: skip
def test_what_is_no_place(where: str) -> None:
    with pytest.raises(SourceError, match=r"^source base: expected .*, found "):
        parse_remote(where, "source base")


@pytest.mark.parametrize("where", ["/a/path", "a/path", "hf", "hff:a/b", "https:/host/file"])
def test_paths_are_not_remote(where: str) -> None:
    assert not is_remote(where)


def test_secrets_in_an_address_are_not_repeated() -> None:
    for where in (f"https://user:hunter2@host/f#sha256={DIGEST}", f"https://host/f?key=hunter2#sha256={DIGEST}"):
        with pytest.raises(SourceError) as refused:
            parse_remote(where, "source base")
        assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://h/a/model.safetensors", "model.safetensors"),
        ("https://h/a/%2e%2e", "file"),
        ("https://h/a%2Fb", "b"),
        ("https://h/a%5Cb", "file"),
        ("https://h/a%00b", "file"),
        (f"https://h/{'x' * 300}", "file"),
    ],
)
def test_names_of_files_by_https(address: str, name: str) -> None:
    assert WebPlace(address, DIGEST).name == name


HOSTS = SourceHosts(("huggingface.co", "*.hf.co", "mirror:8443"), ("inside", "127.0.0.1:9000", "[::1]:9000"))


@pytest.mark.parametrize(
    "address",
    [
        "https://huggingface.co/x", "https://HuggingFace.co/x", "https://a.hf.co/x", "https://a.b.hf.co/x",
        "https://mirror:8443/x", "http://inside/x", "https://inside/x", "http://127.0.0.1:9000/x", "http://[::1]:9000/",
    ],
)  # fmt: skip
def test_listed_hosts(address: str) -> None:
    HOSTS.require(URL(address))


@pytest.mark.parametrize(
    "address",
    [
        "https://hf.co/x", "https://evilhf.co/x", "https://huggingface.co.evil/x", "https://huggingface.co:8443/x",
        "https://mirror/x", "http://huggingface.co/x", "http://mirror:8443/x", "http://127.0.0.1:9001/x",
        "http://127.0.0.1/x", "ftp://inside/x", "file:///etc/passwd", "https://huggingface.co@evil/x", "https://[::2]/",
    ],
)  # fmt: skip
def test_hosts_that_are_not_listed(address: str) -> None:
    with pytest.raises(HostRefusedError):
        HOSTS.require(URL(address))


def test_none_is_listed_by_default() -> None:
    with pytest.raises(HostRefusedError, match=r"a host that NINFORGE_SOURCE_HOSTS lists \(which lists none\)"):
        SourceHosts.of(RemoteSettings()).require(URL("https://huggingface.co"))


@pytest.mark.parametrize("hosts", ["https://host", "host/path", "host:0", "host:70000", "ho st", "*", "a.*.b", "[x]"])
def test_settings_take_hosts_alone(hosts: str) -> None:
    with pytest.raises(ValueError, match=r"expected HOST, HOST:PORT or \*\.DOMAIN"):
        RemoteSettings(source_hosts=hosts)


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
)
def test_public_addresses(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",  # noqa: S104
        "255.255.255.255", "224.0.0.1", "240.0.0.1", "192.0.2.1", "198.18.0.1", "::", "::1", "fe80::1", "fe80::1%eth0",
        "fc00::1", "fec0::1", "ff02::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe", "2002:7f00:1::1", "2001:0:7f00:1::1",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(address)
