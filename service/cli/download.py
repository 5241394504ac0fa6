"""`ninforge download`: all files of a job's artifact."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from service.cli.consoles import say, say_document, sized
from service.cli.options import JsonOption
from service.cli.progress import Phase, watched
from service.cli.service_options import JobArgument, TokenOption, UrlOption
from service.client import Download, ServiceClient
from workers.engine.steps import Observer


def add_commands(application: typer.Typer) -> None:
    application.command()(download)


def download(
    job: JobArgument,
    url: UrlOption,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to put the files into.")],
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Download the artifact of a job that is ready with all its files, each checked; run again, it goes on where it
    broke off."""
    with ServiceClient(url, token) as client:
        downloaded = client.download(job, out, shown=_shown)
    if as_json:
        say_document(_document(downloaded))
    else:
        _show(downloaded)


@contextmanager
def _shown(total: int) -> Iterator[Observer]:
    with watched(Phase("downloading", total)) as [observer]:
        yield observer


def _document(downloaded: Download) -> dict[str, object]:
    manifest = downloaded.manifest
    return {
        "artifact_id": manifest.artifact_id,
        "framing": manifest.framing,
        "minimum_reader": manifest.minimum_reader,
        "bytes": manifest.bytes,
        "parts": [
            {
                "path": str(downloaded.path(part)),
                "bytes": part.bytes,
                "sha256": part.sha256,
                "fetched": downloaded.fetched.get(part.index, 0),
            }
            for part in manifest.parts
        ],
    }


def _show(downloaded: Download) -> None:
    for part in downloaded.manifest.parts:
        before = "" if part.index in downloaded.fetched else ", was there already"
        say(f"{downloaded.path(part)}: {sized(part.bytes)}, SHA-256 {part.sha256}{before}")
    say(f"opens in {downloaded.manifest.minimum_reader}")
