"""`ninforge download`: all files of a job's artifact."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Annotated
from uuid import UUID

import httpx
import typer

from schemas.errors import OutputError
from schemas.interface import ArtifactManifest, ManifestPart
from service.cli.artifact_client import ArtifactClient
from service.cli.consoles import say, say_document, sized
from service.cli.options import JsonOption
from service.cli.output_places import check_output
from service.cli.partial_files import PartialFile, opened_partial, partial_path
from service.cli.progress import Phase, watched
from workers.engine.publication import publish

_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")


@dataclass(frozen=True, slots=True)
class _Missing:
    """A file that is to be fetched, and what has come of it."""

    part: ManifestPart
    target: Path
    partial: PartialFile


def add_commands(application: typer.Typer) -> None:
    application.command()(download)


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


def download(
    job: Annotated[UUID, typer.Argument(metavar="JOB", help="The id of a job that is ready.")],
    url: Annotated[str, typer.Option("--url", metavar="URL", parser=parse_service, help="Where the service is.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to put the files into.")],
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            metavar="TOKEN",
            envvar="NINFORGE_TOKEN",
            parser=parse_token,
            help="What the service asks for. The variable keeps it out of lists of processes.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Download an artifact with all its files, each checked; run again, it goes on where it broke off."""
    if not out.is_dir():
        raise OutputError(str(out), expected="a folder that exists", found="none")
    with closing(ArtifactClient(url, job, token)) as client:
        manifest = client.manifest()
        fetched = _fetch_missing(client, manifest, out)
    if as_json:
        say_document(_document(manifest, out, fetched))
    else:
        _show(manifest, out, fetched)


def _fetch_missing(client: ArtifactClient, manifest: ArtifactManifest, out: Path) -> dict[int, int]:
    """Fetches the files that are not there yet and names them together; bytes fetched of each, by index."""
    with ExitStack() as stack:
        missing = [
            _Missing(part, target, stack.enter_context(opened_partial(partial_path(target, part.sha256))))
            for part in manifest.parts
            if not _is_there(target := out / part.name, part)
        ]
        if not missing:
            return {}
        _require_room(missing, out)
        [observer] = stack.enter_context(watched(Phase("downloading", sum(one.part.bytes for one in missing))))
        fetched = {one.part.index: client.complete(one.part, one.partial, observer) for one in missing}
        publish([one.partial.path for one in missing], [one.target for one in missing], overwrite=False)
    return fetched


def _is_there(target: Path, part: ManifestPart) -> bool:
    """Whether the file has been downloaded already. Raises OutputError for another one under its name."""
    check_output(target, force=True)
    try:
        with target.open("rb") as file:
            found = file_digest(file, "sha256").hexdigest() if target.stat().st_size == part.bytes else "another size"
    except FileNotFoundError:
        return False
    if found != part.sha256:
        expected = f"no file, or the one with the SHA-256 {part.sha256}"
        raise OutputError(str(target), expected=expected, found=f"another file ({found})")
    return True


def _require_room(missing: Sequence[_Missing], out: Path) -> None:
    needed = sum(max(0, one.part.bytes - one.partial.size) for one in missing)
    free = shutil.disk_usage(out).free
    if free < needed:
        raise OutputError(str(out), expected=f"room for {needed} bytes", found=f"{free} bytes free")


def _document(manifest: ArtifactManifest, out: Path, fetched: dict[int, int]) -> dict[str, object]:
    return {
        "artifact_id": manifest.artifact_id,
        "framing": manifest.framing,
        "minimum_reader": manifest.minimum_reader,
        "bytes": manifest.bytes,
        "parts": [
            {
                "path": str(out / part.name),
                "bytes": part.bytes,
                "sha256": part.sha256,
                "fetched": fetched.get(part.index, 0),
            }
            for part in manifest.parts
        ],
    }


def _show(manifest: ArtifactManifest, out: Path, fetched: dict[int, int]) -> None:
    for part in manifest.parts:
        before = "" if part.index in fetched else ", was there already"
        say(f"{out / part.name}: {sized(part.bytes)}, SHA-256 {part.sha256}{before}")
    say(f"opens in {manifest.minimum_reader}")
