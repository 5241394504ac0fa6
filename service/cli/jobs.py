"""`ninforge submit` and `ninforge watch`: jobs of a running service."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import ValidationError

from schemas.interface import Job, JobRequest
from schemas.states import JobState
from service.cli.consoles import counted, say, say_document, sized, tell
from service.cli.job_progress import shown_job
from service.cli.options import (
    FramingOption,
    JsonOption,
    LetOption,
    PartBytesOption,
    Place,
    integers_by_name,
    parse_named_place,
    places_by_name,
    usage_error,
)
from service.cli.recipe_argument import recipe_file
from service.cli.service_options import JobArgument, TokenOption, UrlOption
from service.client import ServiceClient
from workers.engine.recipe.document_text import read_text_document
from workers.engine.recipe.registered import registered_ids

EXIT_NOT_READY = 1


def add_commands(application: typer.Typer) -> None:
    application.command()(submit)
    application.command()(watch)


def submit(
    recipe: Annotated[
        str, typer.Argument(metavar="RECIPE", help="A recipe's file, or the id of a recipe that the service knows.")
    ],
    url: UrlOption,
    source: Annotated[
        list[Place] | None,
        typer.Option(
            "--source",
            metavar="NAME=WHERE",
            parser=parse_named_place,
            help="Where the service finds a source of the recipe. Once for each source.",
        ),
    ] = None,
    resource: Annotated[
        list[Place] | None,
        typer.Option(
            "--resource",
            metavar="NAME=WHERE",
            parser=parse_named_place,
            help="Another place for a resource than the one that the recipe names.",
        ),
    ] = None,
    let: LetOption = None,
    framing: FramingOption = "auto",
    part_bytes: PartBytesOption = None,
    verify: Annotated[Literal["full", "sample"], typer.Option("--verify", help="How many rows to verify.")] = "full",
    device: Annotated[
        Literal["auto", "cpu", "cuda"], typer.Option("--device", help="Which workers are to encode it.")
    ] = "auto",
    name: Annotated[
        str | None, typer.Option("--name", help="What to call the job; by default the recipe's id.")
    ] = None,
    allow_unexecutable: Annotated[
        bool, typer.Option("--allow-unexecutable", help="Also make what engines load and fail to run.")
    ] = False,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="KEY", help="Submit once under this key, however often the command is run."),
    ] = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Submit a conversion to a service; prints the job's id. Where the connection breaks it is sent again, and is one
    job all the same."""
    request = _request(
        recipe=_recipe(recipe),
        sources=places_by_name(source, "--source"),
        resources=places_by_name(resource, "--resource"),
        let=integers_by_name(let, "--let"),
        framing=framing if framing == "auto" else int(framing),
        part_bytes=part_bytes,
        verify=verify,
        device=device,
        name=name,
        allow_unexecutable=allow_unexecutable,
    )
    with ServiceClient(url, token) as client:
        job = client.submit(request, key=key)
    if as_json:
        say_document(job.model_dump(mode="json"))
    else:
        say(str(job.id))
        tell(f"job {job.id} ({job.name}) is {job.state}")


def watch(
    job: JobArgument,
    url: UrlOption,
    exit_status: Annotated[
        bool, typer.Option("--exit-status", help="Exit with 1 if the job fails or is cancelled.")
    ] = False,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Watch a job until it has ended, also over restarts of the service."""
    with ServiceClient(url, token) as client:
        with shown_job() as show:
            for happening in client.watch(job):
                show(happening)
        ended = client.show(job)
    if as_json:
        say_document(ended.model_dump(mode="json"))
    else:
        _say_end(ended)
    if exit_status and ended.state is not JobState.READY:
        raise typer.Exit(EXIT_NOT_READY)


def _recipe(given: str) -> object:
    """The document of a file, or the id of a recipe. Raises RecipeError for a file that holds no document."""
    if given in registered_ids() or not os.path.lexists(given):
        return given
    file = recipe_file(Path(given))
    return read_text_document(file.text, where=file.where).data


def _request(**members: Any) -> JobRequest:
    try:
        return JobRequest.model_validate(members)
    except ValidationError as error:
        first = error.errors()[0]
        usage_error(f"{'/'.join(map(str, first['loc']))}: {first['msg']}")


def _say_end(job: Job) -> None:
    if job.artifact is not None:
        files = counted(len(job.artifact.parts), "file")
        say(f"job {job.id} is ready: {files}, {sized(job.artifact.bytes)}, SHA-256 {job.artifact.sha256}")
        return
    say(f"job {job.id} is {job.state}{'' if job.error is None else f': {job.error.detail}'}")
    for fault in (job.error and job.error.errors) or ():
        say(f"  {fault.at or '/'}: {fault.message}")
