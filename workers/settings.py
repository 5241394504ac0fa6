"""Configuration of service and workers: one class, from `NINFORGE_*` environment variables."""

from __future__ import annotations

import os
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, PositiveInt, ValidationInfo, field_validator
from pydantic_settings import NoDecode, SettingsConfigDict
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from workers.devices import WorkerDevice
from workers.remote.settings import RemoteSettings
from workers.tokens import Token, parse_tokens
from workers.webhook_signature import signing_key


def _split(separator: str) -> BeforeValidator:
    def split(value: object) -> object:
        return [part for part in value.split(separator) if part] if isinstance(value, str) else value

    return BeforeValidator(split)


def _available_cores() -> int:
    return len(os.sched_getaffinity(0))


def _below_data(settings: dict[str, Any]) -> tuple[Path, ...]:
    return (settings["data"] / "sources",) if "data" in settings else ()


class Settings(RemoteSettings):
    """Every setting with its default. The variable of `source_roots` is `NINFORGE_SOURCE_ROOTS`, and so on."""

    model_config = SettingsConfigDict(env_prefix="NINFORGE_", frozen=True, extra="forbid", hide_input_in_errors=True)

    data: Annotated[Path, Field(validate_default=True)] = Path("ninforge-data")
    """Folder of everything that the service keeps: database and queue where it has no other, work files, artifacts."""

    source_roots: Annotated[tuple[Path, ...], NoDecode, _split(os.pathsep)] = Field(default_factory=_below_data)
    """Folders that jobs may read sources from, separated by colons. By default `sources` in the data folder only."""

    database_password_file: Path | None = None
    """File with the password of the user in `database_url`, which then has none itself."""

    database_url: Annotated[str | None, Field(repr=False)] = None
    """SQLAlchemy's URL of a PostgreSQL database; without one, SQLite in the data folder."""

    broker_url: str | None = None
    """Celery's URL of a Redis server; without one, files in the data folder."""

    tokens_file: Path | None = None
    """File with one token a line, instead of `tokens`; empty lines and lines that begin with # are skipped."""

    tokens: Annotated[tuple[Token, ...], NoDecode, Field(validate_default=True)] = ()
    """Tokens, one of which each request has to show, as NAME:read:SECRET or NAME:submit:SECRET, separated by commas.
    Without any, nobody is asked."""

    host: str = "127.0.0.1"
    """Address to listen on: a loopback address, unless there are tokens."""

    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    """Port to listen on; 0 takes a free one."""

    allowed_hosts: Annotated[tuple[str, ...], NoDecode, _split(",")] = ("localhost", "127.0.0.1", "[::1]")
    """Names that a request's Host header may carry, separated by commas."""

    max_body_bytes: PositiveInt = 8 << 20
    """Largest body of a request: a recipe may have 4 MiB of text, and more once written as JSON."""

    max_active_jobs_per_token: PositiveInt = 1000
    """Jobs of one token that may wait or be under way at once, or of all callers where there are no tokens."""

    max_event_streams: PositiveInt = 1000
    """Streams of server-sent events that one process of the API may have open at once."""

    device: WorkerDevice = "cpu"
    """Where a worker encodes: `cpu`, or `cuda` on the first NVIDIA GPU that it sees. Jobs that ask for `cuda` go to
    workers that have one."""

    threads: PositiveInt = Field(default_factory=_available_cores)
    """Threads that encode or verify in one worker. By default as many as cores that the process may use."""

    batch_bytes: PositiveInt = 1 << 30
    """Payload bytes that a worker claims at a time, and so the most that a killed one costs; one object at least."""

    lease_seconds: Annotated[float, Field(gt=0)] = 20
    """How long a claim lasts without a sign of life from its worker, which gives three in that time."""

    sweep_seconds: Annotated[float, Field(gt=0)] = 5
    """How often each worker looks for expired claims, and for waiting work when it is idle."""

    retention_days: Annotated[float, Field(gt=0, le=36_500)] | None = None
    """Days after which finished jobs that are not pinned are removed with their artifacts; None for never."""

    webhook_url: Annotated[str | None, Field(repr=False)] = None
    """Where each job that has ended is sent by POST."""

    webhook_secret_file: Path | None = None
    """File with the secret, instead of `webhook_secret`."""

    webhook_secret: Annotated[str | None, Field(repr=False, validate_default=True)] = None
    """What is sent is signed with it: `whsec_` and 24 to 64 bytes in base64, as of Standard Webhooks."""

    @property
    def retention(self) -> timedelta | None:
        """How long finished jobs stay."""
        return None if self.retention_days is None else timedelta(days=self.retention_days)

    @field_validator("data")
    @classmethod
    def _absolute(cls, data: Path) -> Path:
        return data.expanduser().absolute()

    @field_validator("source_roots")
    @classmethod
    def _absolute_roots(cls, roots: tuple[Path, ...]) -> tuple[Path, ...]:
        return tuple(root.expanduser().absolute() for root in roots)

    @field_validator("source_roots")
    @classmethod
    def _folders(cls, roots: tuple[Path, ...], info: ValidationInfo) -> tuple[Path, ...]:
        for root in roots:
            if root not in _below_data(info.data) and not root.is_dir():
                raise ValueError(f"expected folders that exist, found no folder {root}")
        return roots

    @field_validator("database_url")
    @classmethod
    def _postgresql(cls, url: str | None, info: ValidationInfo) -> str | None:
        file = info.data.get("database_password_file")
        found = _of_scheme(url, "postgresql+psycopg", "postgresql")
        if found is None or file is None:
            return found
        try:
            return make_url(found).set(password=_line(file)).render_as_string(hide_password=False)
        except ArgumentError:
            raise ValueError("expected a URL, found none") from None

    @field_validator("broker_url")
    @classmethod
    def _redis(cls, url: str | None) -> str | None:
        return _of_scheme(url, "redis", "rediss", "redis+socket")

    @field_validator("tokens", mode="before")
    @classmethod
    def _parsed_tokens(cls, tokens: object, info: ValidationInfo) -> object:
        file = info.data.get("tokens_file")
        if isinstance(tokens, str):
            if file is not None:
                raise ValueError("expected NINFORGE_TOKENS or NINFORGE_TOKENS_FILE, found both")
            return parse_tokens(tokens.split(","))
        # A worker that takes over the settings of another process has the tokens already.
        return tokens if tokens or file is None else parse_tokens(_lines_with_tokens(file))

    @field_validator("webhook_url")
    @classmethod
    def _http(cls, url: str | None) -> str | None:
        if url is not None and not (url.startswith(("https://", "http://")) and urlsplit(url).hostname):
            raise ValueError("expected a URL that begins with https:// or http:// and a host, found another")
        return url

    @field_validator("webhook_secret")
    @classmethod
    def _signing_secret(cls, secret: str | None, info: ValidationInfo) -> str | None:
        file = info.data.get("webhook_secret_file")
        found = _line(file) if secret is None and file is not None else secret
        if found is not None:
            signing_key(found)
        return found

    @field_validator("host")
    @classmethod
    def _loopback(cls, host: str, info: ValidationInfo) -> str:
        # Where the tokens are wrong, that is told, and not also that there are none.
        if host == "localhost" or _is_loopback(host) or info.data.get("tokens") != ():
            return host
        raise ValueError(
            f"expected a loopback address (127.0.0.1, ::1, localhost) as long as there is no token, found {host!r}"
        )


def _of_scheme(url: str | None, *schemes: str) -> str | None:
    if url is not None and url.partition("://")[0] not in schemes:
        raise ValueError(f"expected a URL that begins with {schemes[0]}://, found {url.partition('://')[0]!r}")
    return url


def _lines(file: Path) -> list[str]:
    try:
        return [line.strip() for line in file.read_text().splitlines()]
    except (OSError, UnicodeDecodeError):
        raise ValueError(f"expected a file of text that can be read, found none at {file}") from None


def _line(file: Path) -> str:
    lines = [line for line in _lines(file) if line]
    if len(lines) != 1:
        raise ValueError(f"expected one line in {file}, found {len(lines)}")
    return lines[0]


def _lines_with_tokens(file: Path) -> list[str]:
    tokens = [line for line in _lines(file) if line and not line.startswith("#")]
    if not tokens:
        raise ValueError(f"expected a token in each line, found none in {file}")
    return tokens


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
