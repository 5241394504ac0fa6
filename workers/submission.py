"""A conversion as it is asked for, and what planning makes of it: the same in the API process and in every worker."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from schemas.errors import Fault, PlanError, SourceError
from schemas.recipe.expanded import ExpandedRecipe, ExpandedSource
from schemas.recipe.pointer import escape
from schemas.tables import JobRow
from workers.engine.packaging import Packaging
from workers.engine.plan import Plan
from workers.engine.sources.roots import Roots
from workers.recipe_expansion import Document, expanded
from workers.recipe_records import document_of
from workers.remote.client import told_of
from workers.remote.fetching import Fetching, Places, fetchable_origins
from workers.remote.header_fetching import HeaderFetching, one_of_few_plans
from workers.remote.hosts import SourceHosts, address_of
from workers.remote.places import RemotePlace, is_remote, parse_remote
from workers.remote.planning import Judge, RemotePlanning
from workers.settings import Settings


@dataclass(frozen=True, slots=True)
class Submission:
    """A recipe's document, where its sources and resources are, and how to convert."""

    document: Document
    let: Mapping[str, int]
    sources: Mapping[str, str]
    resources: Mapping[str, str]
    packaging: Packaging
    allow_unexecutable: bool
    verify: str
    device: str

    @classmethod
    def of(cls, job: JobRow) -> Submission:
        """What a job was submitted with."""
        return cls(
            document=Document({}, "") if job.recipe is None else document_of(job.recipe),
            let=job.let,
            sources=job.sources,
            resources=job.resources,
            packaging=Packaging(job.framing, job.part_bytes),
            allow_unexecutable=job.allow_unexecutable,
            verify=job.verify,
            device=job.device,
        )

    def expand(self) -> ExpandedRecipe:
        """The recipe. Raises RecipeError with all its faults."""
        return expanded(self.document, self.let)


def with_origins(submission: Submission, recipe: ExpandedRecipe, settings: Settings) -> Submission:
    """The submission with a place for each source that has none and whose origin can be fetched."""
    origins = fetchable_origins(recipe, submission.sources, SourceHosts.of(settings))
    return replace(submission, sources={**submission.sources, **origins})


def locate(submission: Submission, recipe: ExpandedRecipe, settings: Settings) -> Places:
    """The places that a submission names, each below a source root or at a listed host.

    Raises PlanError with every name that is unbound or unknown and every place that is not allowed; the faults'
    pointers lead into the submission. Whether anything is there is found out by planning.
    """
    submission = with_origins(submission, recipe, settings)
    faults = [
        *_unknown("sources", submission.sources, recipe.sources),
        *(_unbound(source) for name, source in recipe.sources.items() if name not in submission.sources),
        *_unknown("resources", submission.resources, [one.name for one in recipe.resources]),
    ]
    sources = _located("source", submission.sources, settings, faults)
    resources = _located("resource", submission.resources, settings, faults)
    if faults:
        raise PlanError("places", faults, expected="a place that may be read for every source of the recipe")
    return Places(sources, resources)


def plan_submission(submission: Submission, settings: Settings) -> Plan:
    """Plans a submission from headers alone, also where sources are remote, of which a process plans a few at once.

    Raises RecipeError, PlanError, SourceError, FetchError, OutputError.
    """
    recipe = submission.expand()
    places = locate(submission, recipe, settings)
    with one_of_few_plans() if places.remote else nullcontext():
        planning = _planning(settings, HeaderFetching())
        return planning.plan_from_headers(recipe, places, submission.packaging, Roots(settings.source_roots))


def plan_fetched(submission: Submission, settings: Settings, fetching: Fetching, judge: Judge) -> Plan:
    """Plans a submission and fetches what is remote, after `judge` has passed a plan from headers.

    Raises what plan_submission raises, and what `fetching` and `judge` do.
    """
    recipe = submission.expand()
    places = locate(submission, recipe, settings)
    planning = _planning(settings, fetching)
    return planning.plan(recipe, places, submission.packaging, Roots(settings.source_roots), judge=judge)


def _planning(settings: Settings, fetching: Fetching) -> RemotePlanning:
    return RemotePlanning(SourceHosts.of(settings), settings.data / "fetched", fetching)


def _unknown(member: str, given: Mapping[str, str], known: Collection[str]) -> list[Fault]:
    return [
        Fault(f"/{member}/{escape(name)}", f"expected one of {', '.join(known) or 'none'}, found {name!r}")
        for name in given
        if name not in known
    ]


def _unbound(source: ExpandedSource) -> Fault:
    hint = ""
    if source.origin is not None and is_remote(source.origin):
        hint = f"; its origin, {source.origin}, is fetched if NINFORGE_SOURCE_HOSTS lists the host"
    return Fault("/sources", f"expected a place for {source.name!r}, found none{hint}")


def _located(
    kind: str, given: Mapping[str, str], settings: Settings, faults: list[Fault]
) -> dict[str, Path | RemotePlace]:
    places: dict[str, Path | RemotePlace] = {}
    for name, where in given.items():
        try:
            places[name] = _place(where, settings, f"{kind} {name}")
        except SourceError as error:
            faults.append(Fault(f"/{kind}s/{escape(name)}", str(error)))
    return places


def _place(where: str, settings: Settings, owner: str) -> Path | RemotePlace:
    if is_remote(where):
        remote = parse_remote(where, owner)
        with told_of(owner):
            SourceHosts.of(settings).require(address_of(remote))
        return remote
    roots = Roots(settings.source_roots)
    place = place_below(where, roots, owner)
    roots.resolve(place, owner)
    return place


def place_below(where: str, roots: Roots, owner: str) -> Path:
    """The path that a text means. A relative one is below the first root that has something there.

    Raises SourceError, which `owner` begins, for a URI, and where there are no roots.
    """
    if is_remote(where):
        raise SourceError(owner, expected="a path below the source roots", found=f"the URI {where!r}")
    candidates = [root / where for root in roots.below or ()]
    if not candidates:
        raise SourceError(owner, expected="a place below the source roots, of which there are none", found=repr(where))
    return next(filter(_exists, candidates), candidates[0])


def _exists(place: Path) -> bool:
    try:
        return place.exists()
    except OSError:  # a name too long, a folder that may not be looked into: planning says so
        return False
