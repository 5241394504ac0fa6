"""The files that a command is to make: refused before any work where they cannot or must not be written."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel

from schemas.errors import OutputError
from service.cli.consoles import document, say
from workers.engine.plan import Plan
from workers.engine.publication import stale_continuations
from workers.engine.sources.checkpoint import CONFIG_NAME
from workers.engine.sources.checkpoint_index import INDEX_NAME

_FREE_NAME = "a name that is not taken (or --force)"


def parse_output(text: str) -> Path:
    """A place to write to. Raises BadParameter for a text that can only name a folder."""
    if not text or text.endswith(("/", "/.", "/..")) or text in {".", ".."}:
        raise typer.BadParameter(f"expected a file name, found {text!r}")
    return Path(text)


ReportOption = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", parser=parse_output, help="Also write the JSON report there."),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


def say_stale(outputs: Sequence[Path], entry_name: str) -> None:
    """Warns of continuations beside an artifact's files that are of another artifact of its name."""
    for path in stale_continuations(outputs, entry_name):
        say(f"warning: {path} is no file of this artifact, but of another one of the same name")


def check_output(out: Path, *, force: bool) -> None:
    """Raises OutputError where `out` lies in no folder, or is taken by what is no file or is not to be replaced."""
    try:
        mode = _mode(out)
        folder = out.parent.is_dir()
    except OSError as error:
        raise OutputError(str(out), expected="a name that can be given to a file", found=str(error.strerror)) from None
    if not folder:
        raise OutputError(str(out), expected="a folder that exists", found=f"no folder {out.parent}")
    if mode is None:
        return
    if stat.S_ISDIR(mode):
        raise OutputError(str(out), expected="a file name", found="a folder")
    if stat.S_ISLNK(mode):
        raise OutputError(str(out), expected="a file itself", found="a symbolic link")
    if not stat.S_ISREG(mode):
        raise OutputError(str(out), expected="a regular file", found="a device, pipe or socket")
    if not force:
        raise OutputError(str(out), expected=_FREE_NAME, found="an existing file")


def _mode(path: Path) -> int | None:
    """What stands at a path; None where nothing does."""
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return None


def same_place(one: Path, other: Path) -> bool:
    """Whether two names are of one file, or would be."""
    if one.name == other.name and os.path.realpath(one.parent) == os.path.realpath(other.parent):
        return True
    with suppress(OSError):
        return one.samefile(other)
    return False


def refuse_inputs(plan: Plan, recipe_file: Path | None, outputs: Iterable[Path]) -> None:
    """Raises OutputError where writing an output would destroy what the conversion is made of."""
    inputs = [*_source_files(plan), *([] if recipe_file is None else [("the recipe", recipe_file)])]
    for out in outputs:
        for what, path in inputs:
            if same_place(out, path):
                raise OutputError(str(out), expected="another file than the conversion reads", found=f"{what}")


def _source_files(plan: Plan) -> Iterator[tuple[str, Path]]:
    for checkpoint in plan.sources.checkpoints.values():
        for path in (*(shard.path for shard in checkpoint.shards), checkpoint.folder / CONFIG_NAME):
            yield f"a file of {checkpoint.owner}", path
        yield f"a file of {checkpoint.owner}", checkpoint.folder / INDEX_NAME
    for hashed in (*plan.sources.files.values(), *plan.sources.resources.values()):
        yield f"the file of {hashed.file.owner}", hashed.file.path


@contextmanager
def pending_file(path: Path, *, force: bool) -> Iterator[Callable[[bytes], None]]:
    """Makes sure that a file can be written at `path`, and gives what writes it: whole, durably and in one step.

    Until then it has a temporary name in the same folder; when the block ends, that is gone. Raises OutputError where
    the file cannot be created, written or named.
    """
    work = path.with_name(f".{secrets.token_hex(8)}.partial")
    with _refused(path):
        file = work.open("xb")

    def publish(content: bytes) -> None:
        with _refused(path):
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            if not force and os.path.lexists(path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            work.replace(path)

    try:
        with file:
            yield publish
    finally:
        with suppress(FileNotFoundError):
            work.unlink()


def publish_report(report: BaseModel, publish: Callable[[bytes], None], out: Path) -> None:
    """Writes a report with what `pending_file` gave, beside the finished artifact `out`. Raises OutputError."""
    try:
        publish(document(report.model_dump(mode="json")).encode())
    except OutputError as error:
        found = f"{error.found}; the artifact itself is complete, as {out}"
        raise OutputError(error.where, expected=error.expected, found=found) from None


@contextmanager
def _refused(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(str(path), expected="a file that can be written", found=str(error.strerror)) from None
