"""Which hosts may be asked for sources: settings of service, workers and command line."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

_HOST = re.compile(r"(\*\.)?[A-Za-z0-9.-]+(:\d{1,5})?|\[[0-9A-Fa-f:.]+\](:\d{1,5})?")


def _split(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


HostList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]


class RemoteSettings(BaseSettings):
    """The settings that the command line takes too, `NINFORGE_SOURCE_HOSTS` and so on."""

    model_config = SettingsConfigDict(env_prefix="NINFORGE_", frozen=True, extra="forbid", hide_input_in_errors=True)

    source_hosts: HostList = ()
    """Hosts that sources may be fetched from, as HOST, HOST:PORT or *.DOMAIN, separated by commas: that of the Hub
    (huggingface.co), those it redirects to, and those of https:// places. None by default."""

    private_source_hosts: HostList = ()
    """More of them that may have private or loopback addresses and be asked by http: a mirror in one's own network."""

    @field_validator("source_hosts", "private_source_hosts")
    @classmethod
    def _hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            if not _HOST.fullmatch(host) or int(host.rpartition("]")[2].partition(":")[2] or 1) not in range(1, 65536):
                raise ValueError(f"expected HOST, HOST:PORT or *.DOMAIN, separated by commas, found {host!r}")
        return hosts
