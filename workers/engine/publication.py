"""Gives finished files their names: all or none, durably, the one that names the others last (container-v3.md, 12)."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from glob import escape
from pathlib import Path

from schemas.errors import OutputError
from workers.engine.container.output_file import sync_folder

_FREE_NAME = "a name that is not taken (or --force)"
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK})


def refuse_taken(targets: Sequence[Path], *, overwrite: bool) -> None:
    """Raises OutputError for a place where no file can be put, or that is taken and is not to be overwritten."""
    for target in targets:
        if target.is_dir():
            raise OutputError(str(target), expected="a file name", found="a folder")
        if not overwrite and os.path.lexists(target):
            raise OutputError(str(target), expected=_FREE_NAME, found="an existing file")
        if not target.parent.is_dir():
            raise OutputError(str(target), expected="a folder that exists", found=f"no folder {target.parent}")


def stale_continuations(targets: Sequence[Path], entry_name: str) -> tuple[Path, ...]:
    """Files beside an artifact's that are named as its continuations and are none: of another one that was there."""
    beside = targets[0].parent.glob(f"{escape(entry_name)}.part-*")
    return tuple(sorted(path for path in beside if path not in targets))


def publish(finished: Sequence[Path], targets: Sequence[Path], *, overwrite: bool) -> None:
    """Moves each finished file to its target on the same file system, the first last.

    A file that took a name meanwhile is kept unless it is to be overwritten; what had been given a name is then taken
    back. Raises OutputError.
    """
    named: list[Path] = []
    try:
        for work, target in reversed(list(zip(finished, targets, strict=True))):
            _name(work, target, overwrite=overwrite)
            named.append(target)
        sync_folder(targets[0].parent)
    except BaseException:
        for target in named:
            with suppress(OSError):
                target.unlink()
        raise
    for work in finished:
        with suppress(OSError):
            work.unlink()


def _name(work: Path, target: Path, *, overwrite: bool) -> None:
    """Gives a file its name; it may keep the old one too."""
    try:
        if overwrite or not _linked(work, target):
            refuse_taken([target], overwrite=overwrite)
            work.replace(target)
    except FileExistsError:
        raise OutputError(str(target), expected=_FREE_NAME, found="an existing file") from None
    except OSError as error:
        expected = "a name that can be given to the finished file"
        raise OutputError(str(target), expected=expected, found=str(error)) from None


def _linked(work: Path, target: Path) -> bool:
    """Whether the file got its name as a hard link. Where the file system has none, taking a name and refusing a taken
    one are two steps."""
    try:
        target.hardlink_to(work)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return False
    return True
