"""Options of commands that ask a running service."""

from __future__ import annotations

import re
from typing import Annotated
from uuid import UUID

import httpx
import typer

_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")


def parse_service(text: str) -> str:
    """Raises BadParameter for anything but the address of a service."""
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise typer.BadParameter(f"expected the address of a service, found {text!r}: {error}") from None
    if url.scheme not in {"http", "https"} or not url.host:
        raise typer.BadParameter(f"expected the address of a service, http://… or https://…, found {text!r}")
    return text


def parse_token(text: str) -> str:
    """Raises BadParameter for what no service takes as a token; it is not repeated there."""
    if not _TOKEN.fullmatch(text):
        raise typer.BadParameter("expected a token: letters, digits and ._~+/=-, found another character")
    return text


JobArgument = Annotated[UUID, typer.Argument(metavar="JOB", help="The id of a job.")]
UrlOption = Annotated[
    str,
    typer.Option("--url", metavar="URL", envvar="NINFORGE_URL", parser=parse_service, help="Where the service is."),
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="TOKEN",
        envvar="NINFORGE_TOKEN",
        parser=parse_token,
        help="What the service asks for. The variable keeps it out of lists of processes.",
    ),
]
