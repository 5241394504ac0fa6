"""Which hosts sources may be fetched from, and at which addresses (design.md, Safety)."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

from httpx2 import URL

from schemas.errors import SourceError
from workers.remote.places import HubPlace, RemotePlace
from workers.remote.settings import RemoteSettings

_PORTS = {"https": 443, "http": 80}
_EMBEDDING_LAST = IPv6Network("64:ff9b::/96")
"""Addresses that a gateway translates to the IPv4 address in their last 32 bits (RFC 6052)."""


class HostRefusedError(SourceError):
    """A host or an address that is not to be asked; `where` names the host alone."""


@dataclass(frozen=True, slots=True)
class SourceHosts:
    """Hosts as HOST, HOST:PORT or *.DOMAIN. Those in `private` may have addresses that are not public, and may be
    asked by http."""

    listed: tuple[str, ...]
    private: tuple[str, ...]

    @classmethod
    def of(cls, settings: RemoteSettings) -> SourceHosts:
        """As the settings list them."""
        return cls(settings.source_hosts, settings.private_source_hosts)

    def require(self, url: URL) -> None:
        """Raises HostRefusedError for an address that is not of a listed host, or of another scheme."""
        host, where = url.raw_host.decode(), f"host {url.host}"
        if url.scheme not in _PORTS:
            raise HostRefusedError(where, expected="an address by https", found=f"one by {url.scheme}")
        port = url.port or _PORTS[url.scheme]
        private = self.may_be_private(host, port)
        if not private and not _is_listed(self.listed, host, port):
            # Which others are listed, mirrors in a network of one's own among them, is not for everyone to read.
            none = "" if self.listed or self.private else " (which lists none)"
            raise HostRefusedError(
                where, expected=f"a host that NINFORGE_SOURCE_HOSTS lists{none}", found="one that it does not"
            )
        if url.scheme == "http" and not private:
            raise HostRefusedError(where, expected="an address by https", found="one by http")

    def may_be_private(self, host: str, port: int) -> bool:
        """Whether a host may be at an address that is not public."""
        return _is_listed(self.private, host, port)

    def addresses(self, host: str, port: int) -> list[str]:
        """The addresses to connect to. Raises HostRefusedError if one of them is not public, OSError for none."""
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
        if not self.may_be_private(host, port) and not all(map(is_public, addresses)):
            raise HostRefusedError(
                f"host {host}",
                expected="public addresses only, unless NINFORGE_PRIVATE_SOURCE_HOSTS lists the host",
                found="one that is private, loopback, link-local or reserved",
            )
        return addresses


def hub_endpoint() -> str:
    """Where the Hub is: `HF_ENDPOINT`, as huggingface_hub takes it."""
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def address_of(place: RemotePlace) -> URL:
    """The address whose host has to be listed for a place."""
    return URL(hub_endpoint() if isinstance(place, HubPlace) else place.url)


def is_public(address: str) -> bool:
    """Whether an address belongs to the public internet, also where it is wrapped in one of IPv6."""
    found: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address):
        if found.teredo is not None or found.is_site_local:
            return False
        inner = found.ipv4_mapped or found.sixtofour
        if found in _EMBEDDING_LAST:
            inner = IPv4Address(int(found) & 0xFFFF_FFFF)
        found = inner or found
    return found.is_global and not (found.is_multicast or found.is_reserved or found.is_unspecified)


def _is_listed(entries: Sequence[str], host: str, port: int) -> bool:
    return any(_matches(urlsplit(f"//{entry}"), host.lower(), port) for entry in entries)


def _matches(entry: SplitResult, host: str, port: int) -> bool:
    name = entry.hostname or ""
    if port != entry.port and not (entry.port is None and port in _PORTS.values()):
        return False
    return host.endswith(name[1:]) if name.startswith("*.") else host == name
