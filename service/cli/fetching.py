"""Sources of a command that are not on this machine: planned with from their headers, or fetched into a cache."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from schemas.errors import OutputError
from schemas.recipe.expanded import ExpandedRecipe
from schemas.report import FetchedRecord
from service.cli.progress import Phase, watched
from service.cli.running import settings_of
from workers.engine.packaging import Packaging
from workers.engine.plan import Plan
from workers.engine.sources.roots import ANYWHERE
from workers.remote.client import told_of
from workers.remote.download import Advance
from workers.remote.fetched_records import fetched_records
from workers.remote.fetching import LocalPlaces, Places, fetchable_origins
from workers.remote.hosts import SourceHosts, address_of
from workers.remote.places import HubPlace, RemotePlace, is_remote, parse_remote
from workers.remote.planning import Judge, RemotePlanning
from workers.remote.settings import RemoteSettings


class ConsoleFetching:
    """A Fetching of one command, shown as it goes on. An interruption stops it; the next run takes it up."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._commits: dict[str, str] = {}

    def check(self) -> None:
        """Nothing stops it but an interruption."""

    def commit_of(self, place: HubPlace) -> str | None:
        """As it was resolved in this run."""
        return self._commits.get(place.key)

    def resolved(self, place: HubPlace, commit: str) -> str:
        """Keeps the commit for the report."""
        return self._commits.setdefault(place.key, commit)

    @contextmanager
    def watching(self, total_bytes: int, there_bytes: int, _: int) -> Iterator[Advance]:
        """Shows the progress. Raises OutputError if the disk of the cache has too little room; that of the artifact
        may be another one."""
        free, needed = shutil.disk_usage(self._cache).free, total_bytes - there_bytes
        if free < needed:
            raise OutputError(
                f"folder {self._cache}", expected=f"{needed} bytes free for what is fetched", found=f"{free}"
            )
        with watched(Phase("fetching", total_bytes)) as (observer,):
            yield lambda count: observer.advanced(0, count)


@dataclass(frozen=True, slots=True)
class GivenPlaces:
    """Where sources and resources are, as the command line or the recipe says, with those that are remote allowed."""

    recipe: ExpandedRecipe
    sources: Mapping[str, str]
    resources: Mapping[str, str]
    places: Places
    hosts: SourceHosts
    fetching: ConsoleFetching
    cache: Path

    @classmethod
    def of(cls, recipe: ExpandedRecipe, sources: Mapping[str, str], resources: Mapping[str, str]) -> GivenPlaces:
        """The places of a recipe. Raises SourceError for a remote one that is not allowed, SettingsError."""
        hosts = SourceHosts.of(settings_of(RemoteSettings))
        sources = {**sources, **fetchable_origins(recipe, sources, hosts)}
        names = {resource.name for resource in recipe.resources}
        places = Places(
            {name: _place(f"source {name}", where, hosts, name in recipe.sources) for name, where in sources.items()},
            {name: _place(f"resource {name}", where, hosts, name in names) for name, where in resources.items()},
        )
        cache = cache_folder()
        return cls(recipe, sources, resources, places, hosts, ConsoleFetching(cache), cache)

    def plan(self, packaging: Packaging, judge: Judge) -> Plan:
        """A plan to be carried out: all sources are fetched, once `judge` has passed a plan from headers."""
        return self._planning.plan(self.recipe, self.places, packaging, ANYWHERE, judge=judge)

    def plan_from_headers(self, packaging: Packaging) -> Plan:
        """A plan to be told."""
        return self._planning.plan_from_headers(self.recipe, self.places, packaging, ANYWHERE)

    @contextmanager
    def from_headers(self) -> Iterator[LocalPlaces]:
        """Places of what planning reads, as long as the block runs."""
        with self._planning.from_headers(self.recipe, self.places) as local:
            yield local

    def fetched(self) -> tuple[FetchedRecord, ...]:
        """What was fetched, for a report."""
        return fetched_records(self.sources, self.resources, self.fetching.commit_of)

    @property
    def _planning(self) -> RemotePlanning:
        return RemotePlanning(self.hosts, self.cache, self.fetching)


def cache_folder() -> Path:
    """Where fetched files are kept: in the service's data folder where NINFORGE_DATA names it, else in the user's
    cache."""
    data = os.environ.get("NINFORGE_DATA")
    if data:
        return Path(data).expanduser().absolute() / "fetched"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ninforge" / "fetched"


def _place(owner: str, where: str, hosts: SourceHosts, is_known: bool) -> Path | RemotePlace:
    """A path, or a remote place of a listed host. What the recipe does not know is left to planning, which tells it."""
    if not is_known or not is_remote(where):
        return Path(where)
    place = parse_remote(where, owner)
    with told_of(owner):
        hosts.require(address_of(place))
    return place
