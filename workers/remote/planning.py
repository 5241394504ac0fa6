"""Plans of conversions some of whose sources may be remote: refused from headers, before any weight is fetched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from schemas.recipe.expanded import ExpandedRecipe
from workers.engine.packaging import Packaging
from workers.engine.plan import Plan, plan_conversion
from workers.engine.sources.roots import Roots
from workers.remote.fetching import Fetching, LocalPlaces, Places, remote_sources
from workers.remote.hosts import SourceHosts

Judge = Callable[[Plan], None]
"""Raises what keeps a plan from being carried out."""


@dataclass(frozen=True, slots=True)
class RemotePlanning:
    """How remote sources are planned with: the hosts to ask, the cache, and who asks."""

    hosts: SourceHosts
    cache: Path
    fetching: Fetching

    def plan_from_headers(self, recipe: ExpandedRecipe, places: Places, packaging: Packaging, roots: Roots) -> Plan:
        """A plan for which of remote checkpoints the headers alone are fetched. It cannot be carried out.

        Raises what plan_conversion raises, SourceError, FetchError and OutputError, and what `fetching` does.
        """
        with self.from_headers(recipe, places) as local:
            return _Planner(recipe, packaging, roots, self.cache).plan(local)

    @contextmanager
    def from_headers(self, recipe: ExpandedRecipe, places: Places) -> Iterator[LocalPlaces]:
        """Places of what planning reads, as long as the block runs. Raises SourceError, FetchError and OutputError."""
        if not places.remote:
            yield places.local
            return
        with (
            remote_sources(places, recipe, self.cache, self.hosts, self.fetching) as remote,
            remote.headers_only() as local,
        ):
            yield local

    def plan(self, recipe: ExpandedRecipe, places: Places, packaging: Packaging, roots: Roots, *, judge: Judge) -> Plan:
        """A plan with all that it needs fetched, after `judge` has passed one from headers.

        Raises what plan_from_headers raises, and what `judge` does.
        """
        planner = _Planner(recipe, packaging, roots, self.cache)
        if not places.remote:
            return planner.plan(places.local)
        with remote_sources(places, recipe, self.cache, self.hosts, self.fetching) as remote:
            artifact_bytes = 0
            if not remote.is_complete:
                with remote.headers_only() as local:
                    found = planner.plan(local)
                judge(found)
                artifact_bytes = found.file_bytes
            return planner.plan(remote.fetch(artifact_bytes))


@dataclass(frozen=True, slots=True)
class _Planner:
    recipe: ExpandedRecipe
    packaging: Packaging
    roots: Roots
    cache: Path

    def plan(self, local: LocalPlaces) -> Plan:
        below = self.roots.below
        return plan_conversion(
            self.recipe,
            local.sources,
            resources=local.resources,
            packaging=self.packaging,
            roots=self.roots if below is None else Roots((*below, self.cache)),
        )
