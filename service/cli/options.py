"""Options that several commands share, and what their texts mean. A wrong text is a wrong command line: exit code 2."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NoReturn

import typer

from workers.engine.packaging import Packaging

MAX_INTEGER = 2**63 - 1
MAX_THREADS = 1024
_FETCHED = ("hf:", "https://")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


@dataclass(frozen=True, slots=True)
class Place:
    """`NAME=WHERE`: where something that a recipe names is found, a path or what can be fetched."""

    name: str
    where: str


@dataclass(frozen=True, slots=True)
class NamedInteger:
    """`NAME=INTEGER`: another value for an integer under a recipe's `let`."""

    name: str
    value: int


def parse_named_place(text: str) -> Place:
    """Raises BadParameter for anything but NAME=WHERE."""
    name, _, where = text.partition("=")
    if not name or not where:
        raise typer.BadParameter(f"expected NAME=WHERE, found {text!r}")
    return Place(name, where)


def parse_place(text: str) -> Place:
    """Raises BadParameter for anything but NAME=WHERE, and for a URI of another scheme than those that are fetched."""
    place = parse_named_place(text)
    if _URI.match(place.where) and not place.where.startswith(_FETCHED):
        forms = "a path, hf:ORG/NAME@REVISION or https://HOST/FILE#sha256=HEX"
        raise typer.BadParameter(f"expected {forms}, found {place.where!r}")
    return place


def parse_named_integer(text: str) -> NamedInteger:
    """Raises BadParameter for anything but NAME=INTEGER with an integer from 0 to 2^63-1."""
    name, _, numeral = text.partition("=")
    digits = numeral.lstrip("0") or numeral[-1:]
    if not name or not (numeral.isascii() and numeral.isdecimal()):
        raise typer.BadParameter(f"expected NAME=INTEGER, found {text!r}")
    if len(digits) > len(str(MAX_INTEGER)) or int(digits) > MAX_INTEGER:
        raise typer.BadParameter(f"expected an integer from 0 to {MAX_INTEGER}, found {text!r}")
    return NamedInteger(name, int(digits))


def parse_artifact_id(text: str) -> bytes:
    """Raises BadParameter for anything but 32 hexadecimal digits."""
    if not re.fullmatch(r"[0-9A-Fa-f]{32}", text):
        raise typer.BadParameter(f"expected 32 hexadecimal digits, found {text!r}")
    return bytes.fromhex(text)


RecipeArgument = Annotated[
    str, typer.Argument(metavar="RECIPE", help="A registered id (ninforge recipe list) or a file.")
]
SourceOption = Annotated[
    list[Place] | None,
    typer.Option(
        "--source",
        metavar="NAME=WHERE",
        parser=parse_place,
        help="Where a source of the recipe is: a checkpoint's folder, a file, hf:ORG/NAME@REVISION, or "
        "https://HOST/FILE#sha256=HEX. Once for each source.",
    ),
]
ResourceOption = Annotated[
    list[Place] | None,
    typer.Option(
        "--resource",
        metavar="NAME=FILE",
        parser=parse_place,
        help="Another file for a resource than the one that the recipe names.",
    ),
]
LetOption = Annotated[
    list[NamedInteger] | None,
    typer.Option(
        "--let",
        metavar="N=V",
        parser=parse_named_integer,
        help="Another value for an integer that the recipe names under `let`.",
    ),
]
Framing = Literal["auto", "1", "2", "3"]
FramingOption = Annotated[
    Framing,
    typer.Option(
        "--framing", help="The container's framing; auto is 3 where the recipe names an architecture, and else 2."
    ),
]
PartBytesOption = Annotated[
    int | None,
    typer.Option(
        "--part-bytes",
        metavar="N",
        min=1,
        max=MAX_INTEGER,
        help="Framing 3: no file larger than N bytes, 32000000000 by default.",
    ),
]
ArtifactIdOption = Annotated[
    bytes | None,
    typer.Option(
        "--artifact-id",
        metavar="HEX",
        parser=parse_artifact_id,
        help="Framing 3: the id in the headers, 32 hexadecimal digits; by default it follows from what is converted.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", min=1, max=MAX_THREADS, help="Threads; as many as cores by default.")
]


def usage_error(message: str) -> NoReturn:
    """Ends with exit code 2."""
    raise typer.BadParameter(message)


def thread_count(threads: int | None) -> int:
    """The threads asked for, or as many as cores that this process may use."""
    return threads or len(os.sched_getaffinity(0))


def packaging_of(framing: Framing, part_bytes: int | None, artifact_id: bytes | None) -> Packaging:
    """How the artifact is to be packed."""
    return Packaging(None if framing == "auto" else int(framing), part_bytes, artifact_id)


def places_by_name(places: Sequence[Place] | None, option: str) -> dict[str, str]:
    """The places of an option that was given once for each name."""
    require_each_once([place.name for place in places or ()], option)
    return {place.name: place.where for place in places or ()}


def integers_by_name(integers: Sequence[NamedInteger] | None, option: str) -> dict[str, int]:
    """The integers of an option that was given once for each name."""
    require_each_once([integer.name for integer in integers or ()], option)
    return {integer.name: integer.value for integer in integers or ()}


def require_each_once(names: Sequence[str], option: str) -> None:
    """Raises BadParameter for a name that an option was given twice."""
    for index, name in enumerate(names):
        if name in names[:index]:
            usage_error(f"{option}: expected each name once, found {name!r} twice")
