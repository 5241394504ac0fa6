"""`ninforge health`: whether a process of the service is at work on this host, for the health checks of containers."""

from __future__ import annotations

import socket
from contextlib import closing
from http import HTTPStatus

import httpx
import typer
from sqlalchemy import select

from schemas.errors import ServiceError
from service.cli.consoles import say
from service.cli.running import answering_database, settings

application = typer.Typer(
    help="Whether a process of the service is at work on this host: exit code 0 or 1.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_SECONDS = 5.0
_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what such a server is asked at


@application.command()
def api() -> None:
    """That the API answers, at the address and port of the settings."""
    found = settings()
    host = _ANY_ADDRESS.get(found.host, found.host)
    url = httpx.URL(scheme="http", host=host, port=found.port, path="/healthz")
    name = next((one for one in found.allowed_hosts if "*" not in one), "localhost")
    try:
        answer = httpx.get(url, headers={"host": name}, timeout=_SECONDS, trust_env=False)
    except httpx.HTTPError as error:
        raise ServiceError(f"API at {url}", expected="an answer", found=str(error) or type(error).__name__) from None
    if answer.status_code != HTTPStatus.OK:
        raise ServiceError(f"API at {url}", expected="status 200", found=f"status {answer.status_code}")
    say(f"the API at {url} answers")


@application.command()
def worker() -> None:
    """That a worker on this host has given a sign of life in time."""
    from schemas.tables import WorkerRow
    from workers.database import Database
    from workers.liveness import is_alive

    host = socket.gethostname()
    with answering_database(), closing(Database.existing(settings())) as database, database.reading() as session:
        alive = session.scalars(select(WorkerRow.name).where(WorkerRow.host == host, is_alive(session))).all()
    if not alive:
        raise ServiceError(f"host {host}", expected="a worker that is alive", found="none")
    say(f"alive: {', '.join(sorted(alive))}")
