"""The remote sources and resources of one conversion: what of them is needed, and how it comes.

Of a checkpoint that is its index, its safetensors files, config.json and what else planning reads, and the resources
that the recipe takes from beside it: nothing else of its repository.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import httpx2

from schemas.errors import SourceError
from schemas.recipe.expanded import ExpandedRecipe, SourceKind
from workers.engine.quantization_config import MODELOPT_NAME
from workers.engine.sources.checkpoint import CONFIG_NAME, SINGLE_NAME
from workers.engine.sources.checkpoint_index import INDEX_NAME, read_index
from workers.engine.sources.roots import Roots
from workers.remote.cache import CachedFile, RemoteCache, link
from workers.remote.client import checked_client
from workers.remote.download import Advance, partial_bytes
from workers.remote.headers import fetch_header, web_size
from workers.remote.hosts import SourceHosts, address_of
from workers.remote.hub import Snapshot, list_snapshot
from workers.remote.places import HubPlace, RemotePlace, is_remote, parse_remote

MAX_PLANNED_FILE_BYTES = 128 << 20
"""Planning alone fetches no file that is larger: of safetensors files it takes the headers."""

MAX_PLANNED_BYTES = 1 << 30
"""Of all that planning alone fetches."""

_SUFFIX = ".safetensors"


class Fetching(Protocol):
    """Who asks for sources: knows which commits they are of, and watches what comes."""

    def check(self) -> None:
        """Raises CancelledError where fetching is to stop."""

    def commit_of(self, place: HubPlace) -> str | None:
        """The commit that the place was resolved to before."""

    def resolved(self, place: HubPlace, commit: str) -> str:
        """Told that the place stands for a commit now. The commit to take: one that was recorded earlier, if any."""

    def watching(self, total_bytes: int, there_bytes: int, artifact_bytes: int) -> AbstractContextManager[Advance]:
        """A context in which `total_bytes` are fetched, `there_bytes` of which an earlier attempt left, for an artifact
        of `artifact_bytes`. It has what is to be told of each block, and raises CancelledError to stop.

        Raises OutputError if the disk is too small.
        """


@dataclass(frozen=True, slots=True)
class LocalPlaces:
    """Where sources and resources are, by name, once all are on this machine."""

    sources: Mapping[str, Path]
    resources: Mapping[str, Path]


@dataclass(frozen=True, slots=True)
class Places:
    """Where sources and resources are, by name: paths, and places that are remote."""

    sources: Mapping[str, Path | RemotePlace]
    resources: Mapping[str, Path | RemotePlace]

    @property
    def local(self) -> LocalPlaces:
        """Those that are paths."""
        return LocalPlaces(_paths(self.sources), _paths(self.resources))

    @property
    def remote(self) -> bool:
        """Whether any of them is remote."""
        return any(not isinstance(place, Path) for place in (*self.sources.values(), *self.resources.values()))


class RemoteSources:
    """The remote ones among the places of a conversion, surveyed: which files they come to is known."""

    def __init__(
        self,
        places: Places,
        recipe: ExpandedRecipe,
        cache: RemoteCache,
        client: httpx2.Client,
        hosts: SourceHosts,
        fetching: Fetching,
    ) -> None:
        self._places = places
        self._recipe = recipe
        self._cache = cache
        self._client = client
        self._hosts = hosts
        self._fetching = fetching
        self._files: dict[Path, CachedFile] = {}
        self._weights: set[Path] = set()
        self._planned_bytes = 0
        self._snapshots: dict[tuple[str, str], Snapshot] = {}
        self._sources: dict[str, Path] = {}
        self._resources: dict[str, Path] = {}

    def survey(self) -> None:
        """Finds out what is needed: one question to the Hub for each repository, unless the cache knows, and the index
        of each checkpoint in shards. Raises SourceError, FetchError, OutputError."""
        for name, place in self._places.sources.items():
            if not isinstance(place, Path):
                is_file = self._recipe.sources[name].kind is SourceKind.FILE
                beside = () if is_file else self._beside(name)
                self._sources[name] = self._take(place, f"source {name}, {place}", is_file, beside)
        for name, place in self._places.resources.items():
            if not isinstance(place, Path):
                self._resources[name] = self._take(place, f"resource {name}, {place}", True, ())

    @property
    def is_complete(self) -> bool:
        """Whether all of it is in the cache."""
        return all(file.is_there for file in self._files.values())

    def fetch(self, artifact_bytes: int) -> LocalPlaces:
        """Brings all of it into the cache, for an artifact of that size.

        Raises SourceError, FetchError, OutputError, and CancelledError where the one who asks wants it to stop.
        """
        missing = {file.blob: file for file in self._files.values() if not file.is_there}
        if missing:
            total = sum(file.remote.size for file in missing.values())
            there = sum(partial_bytes(file.blob) for file in missing.values())
            with self._fetching.watching(total, there, artifact_bytes) as advance:
                for file in missing.values():
                    self._cache.fetch(self._client, file, advance)
        for file in self._files.values():  # several paths may have one content
            if file.path != file.blob:
                link(file.path, file.blob)
        return self._at(self._cache.folder)

    @contextmanager
    def headers_only(self) -> Iterator[LocalPlaces]:
        """A folder of what planning reads, as long as the block runs: of safetensors files the headers, of others all.

        Raises SourceError, also for another file of more than MAX_PLANNED_FILE_BYTES, FetchError and OutputError.
        """
        with self._cache.passing_folder() as made:
            for file in self._files.values():
                self._stand_in(file, made / file.path.relative_to(self._cache.folder))
            yield self._at(made)

    def _stand_in(self, file: CachedFile, target: Path) -> None:
        if not file.is_there and file.path in self._weights:
            fetch_header(self._client, file.remote, target, self._checked)
            return
        if not file.is_there:
            if file.remote.size > MAX_PLANNED_FILE_BYTES:
                raise SourceError(
                    file.remote.owner,
                    expected=f"at most {MAX_PLANNED_FILE_BYTES} bytes, of what planning alone fetches",
                    found=f"{file.remote.size}: convert, which fetches it and plans before anything else",
                )
            self._cache.fetch(self._client, file, self._checked)
        link(target, file.path)

    def _checked(self, count: int) -> None:
        self._fetching.check()
        self._planned_bytes += count
        if self._planned_bytes > MAX_PLANNED_BYTES:
            raise SourceError(
                "remote sources", expected=f"at most {MAX_PLANNED_BYTES} bytes that planning reads", found="more"
            )

    def _at(self, folder: Path) -> LocalPlaces:
        local = self._places.local
        return LocalPlaces(
            {**local.sources, **{name: folder / path for name, path in self._sources.items()}},
            {**local.resources, **{name: folder / path for name, path in self._resources.items()}},
        )

    def _beside(self, source: str) -> tuple[str, ...]:
        """The files that the recipe takes from beside a checkpoint."""
        return tuple(
            one.file
            for one in self._recipe.resources
            if one.source == source and one.file is not None and one.name not in self._places.resources
        )

    def _take(self, place: RemotePlace, owner: str, is_file: bool, beside: Sequence[str]) -> Path:
        """Notes the files of a place. Where it lies, relative to the cache."""
        if isinstance(place, HubPlace):
            path = self._take_from_hub(place, owner, is_file, beside)
        else:
            path = self._cache.web_path(place)
            size = path.stat().st_size if path.exists() else web_size(self._client, place, owner)
            self._note(self._cache.web_file(place, size, owner), is_weights=not is_file)
        return path.relative_to(self._cache.folder)

    def _note(self, file: CachedFile, *, is_weights: bool) -> None:
        self._files[file.path] = file
        if is_weights:
            self._weights.add(file.path)

    def _take_from_hub(self, place: HubPlace, owner: str, is_file: bool, beside: Sequence[str]) -> Path:
        snapshot = self._snapshot(place, owner)
        if place.path in snapshot.files:
            names = [place.path]
            if not is_file:
                names += _present(snapshot, place.path.rpartition("/")[0], (CONFIG_NAME, *beside))
        elif is_file:
            raise SourceError(owner, expected="a file, as in hf:ORG/NAME@REVISION/FILE", found="none at that path")
        else:
            names = self._checkpoint_files(snapshot, place.path, owner, beside)
        for name in names:
            is_weights = not is_file and (name == place.path or name.endswith(_SUFFIX))
            self._note(self._cache.hub_file(snapshot, name, owner), is_weights=is_weights)
        return self._cache.snapshot_folder(snapshot.repository, snapshot.commit) / place.path

    def _snapshot(self, place: HubPlace, owner: str) -> Snapshot:
        """What the repository holds at the commit that is recorded, or else at the one that it stands for now."""
        key = (place.repository, place.revision)
        if key not in self._snapshots:
            commit = place.commit or self._fetching.commit_of(place)
            found = None if commit is None else self._cache.listing(place.repository, commit)
            if found is None:
                found = list_snapshot(place, commit or place.revision, self._hosts, owner)
                recorded = found.commit if commit is not None else self._fetching.resolved(place, found.commit)
                if recorded != found.commit:
                    found = list_snapshot(place, recorded, self._hosts, owner)
                self._cache.keep_listing(found)
            self._snapshots[key] = found
        return self._snapshots[key]

    def _checkpoint_files(self, snapshot: Snapshot, folder: str, owner: str, beside: Sequence[str]) -> list[str]:
        prefix = f"{folder}/" if folder else ""
        if not any(name.startswith(prefix) for name in snapshot.files):
            raise SourceError(owner, expected="a folder or file of the repository", found="none at that path")
        if prefix + INDEX_NAME in snapshot.files:
            index = self._cache.hub_file(snapshot, prefix + INDEX_NAME, owner)
            self._cache.fetch(self._client, index, self._checked)
            shards = read_index(owner, index.path.parent, Roots((self._cache.folder,))).tensors_by_shard
            # One that the index does not name makes the checkpoint ambiguous: planning says so.
            weights = [INDEX_NAME, SINGLE_NAME, *shards]
        else:
            weights = [
                name.removeprefix(prefix)
                for name in snapshot.files
                if name.startswith(prefix) and name.endswith(_SUFFIX) and "/" not in name.removeprefix(prefix)
            ]
        return _present(snapshot, folder, (*weights, CONFIG_NAME, MODELOPT_NAME, *beside))


@contextmanager
def remote_sources(
    places: Places, recipe: ExpandedRecipe, cache: Path, hosts: SourceHosts, fetching: Fetching
) -> Iterator[RemoteSources]:
    """The remote ones of these places, surveyed, as long as the block runs. Raises SourceError, FetchError and
    OutputError."""
    with checked_client(hosts) as client:
        sources = RemoteSources(places, recipe, RemoteCache(cache), client, hosts, fetching)
        sources.survey()
        yield sources


def fetchable_origins(recipe: ExpandedRecipe, given: Collection[str], hosts: SourceHosts) -> dict[str, str]:
    """Of the sources that are not given a place, those whose recipe names an origin at a listed host (recipe.md)."""
    origins = {}
    for name, source in recipe.sources.items():
        if name not in given and source.origin is not None and is_remote(source.origin):
            with suppress(SourceError):
                hosts.require(address_of(parse_remote(source.origin, f"source {name}")))
                origins[name] = source.origin
    return origins


def _present(snapshot: Snapshot, folder: str, names: Sequence[str]) -> list[str]:
    """The paths of those names in a folder that are there. What is missing of them, planning tells."""
    paths = [f"{folder}/{name}" if folder else name for name in names]
    return [path for path in dict.fromkeys(paths) if path in snapshot.files]


def _paths(places: Mapping[str, Path | RemotePlace]) -> dict[str, Path]:
    return {name: place for name, place in places.items() if isinstance(place, Path)}
