"""What lies below the source roots, by the names under which a job takes it."""

from __future__ import annotations

import re
import stat
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from schemas.errors import SourceError
from schemas.interface import SourceEntry
from workers.engine.sources.roots import Roots
from workers.settings import Settings

_SAYABLE = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]+")


def source_entries(under: str, settings: Settings, after: str | None = None) -> Iterator[SourceEntry]:
    """Folders and files in the folder `under` of each root, by name, those after the name `after` if there is one. Of a
    name that several roots have it is the first one's. Each is looked at when it is asked for.

    Hidden ones, and links that lead out of the roots, are not among them. None where there is no such folder.
    Raises SourceError for a folder outside of the roots.
    """
    roots = Roots(settings.source_roots)
    found: dict[str, list[Path]] = defaultdict(list)
    for root in settings.source_roots:
        folder = roots.resolve(root / under, "under")
        for name in _names(folder):
            found[str(PurePath(under, name))].append(folder / name)
    return _entries({name: found[name] for name in sorted(found) if after is None or name > after}, roots)


def _entries(places: Mapping[str, Sequence[Path]], roots: Roots) -> Iterator[SourceEntry]:
    for name, alike in places.items():
        entries = (_entry(place, name, roots) for place in alike)
        entry = next((one for one in entries if one is not None), None)
        if entry is not None:
            yield entry


def _names(folder: Path) -> list[str]:
    """Names that a job can say: they are text, without control characters."""
    try:
        names = [file.name for file in folder.iterdir()]
    except OSError:  # no folder, or one that may not be looked into: nothing that a job could take
        return []
    return [name for name in names if not name.startswith(".") and _SAYABLE.fullmatch(name)]


def _entry(place: Path, name: str, roots: Roots) -> SourceEntry | None:
    try:
        status = roots.resolve(place, name).stat()
    except (SourceError, OSError):
        return None
    if stat.S_ISDIR(status.st_mode):
        return SourceEntry(name=name, kind="folder", bytes=None)
    return SourceEntry(name=name, kind="file", bytes=status.st_size) if stat.S_ISREG(status.st_mode) else None
