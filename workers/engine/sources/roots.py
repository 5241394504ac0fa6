"""The places that sources may be read from (design.md, Safety)."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from schemas.errors import SourceError
from workers.engine.sources.wording import shown_path

_FOLDER_FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_FILE_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "links that lead in a circle, or a link put there while it was opened",
}

_FAILURES = {
    errno.ENOENT: "nothing there",
    errno.EACCES: "no permission to read it",
    errno.EPERM: "no permission to read it",
    errno.ELOOP: "links that lead in a circle",
    errno.ENOTDIR: "a path that leads through something that is no directory",
    errno.ENAMETOOLONG: "a name that is too long for the file system",
}


def failure_words(error: OSError) -> str:
    """What went wrong with a file, for the `found` part of a message."""
    return _FAILURES.get(error.errno or 0, f"the system error {error.strerror}")


@dataclass(frozen=True, slots=True)
class Roots:
    """The folders below which every source must lie after all links are followed; None allows any place.

    A link inside a checkpoint is followed wherever its target is below some root: the shards of a Hugging Face cache
    are links into its `blobs` folder.
    """

    below: tuple[Path, ...] | None

    def resolve(self, place: Path, where: str) -> Path:
        """The absolute path of `place` with every link followed. It need not exist.

        Raises SourceError, which `where` begins, if it lies below no root or can name no file. Whether a place outside
        the roots exists, and where links there lead, stays unsaid.
        """
        if "\0" in str(place):
            raise SourceError(where, expected="a path", found="a zero character in it")
        try:
            os.fsencode(place)
        except UnicodeEncodeError as error:
            raise SourceError(where, expected="a path", found="half a surrogate pair in it") from error
        resolved = Path(os.path.realpath(place))
        if self.below is not None and not any(resolved.is_relative_to(os.path.realpath(root)) for root in self.below):
            allowed = ", ".join(shown_path(root) for root in self.below) or "of which there are none"
            raise SourceError(
                where,
                expected=f"a place below the source roots ({allowed})",
                found="a place outside of them once links are followed",
            )
        return resolved

    def is_folder(self, place: Path, where: str) -> bool:
        """Whether `place` is a directory. Raises SourceError if it is outside the roots or not there."""
        resolved = self.resolve(place, where)
        try:
            return stat.S_ISDIR(resolved.stat().st_mode)
        except OSError as error:
            raise _cannot_open(place, where, "an existing file or directory", error) from error

    def open_file(self, place: Path, where: str, *, expected: str = "a regular file") -> int:
        """A descriptor of the regular file at `place`, open for reading; the caller closes it.

        The resolved path is walked from the top without following links, so that nothing swapped in meanwhile can
        lead out of the roots; pipes and devices are refused before they are opened. Raises SourceError.
        """
        resolved = self.resolve(place, where)
        try:
            descriptor, mode = _open_without_links(resolved)
        except OSError as error:
            raise _cannot_open(place, where, expected, error) from error
        if descriptor is None:
            raise SourceError(where, expected=expected, found=_FILE_KINDS.get(stat.S_IFMT(mode), "a special file"))
        return descriptor


ANYWHERE = Roots(None)
"""For the command line, whose user may read whatever the user may read."""


def _open_without_links(resolved: Path) -> tuple[int | None, int]:
    """A descriptor, or None if the file is not regular, and its mode."""
    parent = os.open(resolved.anchor, _FOLDER_FLAGS)
    try:
        for part in resolved.parts[1:-1]:
            child = os.open(part, _FOLDER_FLAGS, dir_fd=parent)
            os.close(parent)
            parent = child
        name = resolved.name or "."
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
        if not stat.S_ISREG(mode):
            return None, mode
        descriptor = os.open(name, _FILE_FLAGS, dir_fd=parent)
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            os.close(descriptor)
            return None, mode
        return descriptor, mode
    finally:
        os.close(parent)


def _cannot_open(place: Path, where: str, expected: str, error: OSError) -> SourceError:
    found = failure_words(error)
    if error.errno == errno.ENOENT and place.is_symlink():
        found = "a link to a place where nothing is"
    return SourceError(where, expected=expected, found=found)
