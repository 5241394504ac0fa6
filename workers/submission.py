"""A conversion as it is asked for, and what planning makes of it: the same in the API process and in every worker."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from schemas.errors import Fault, PlanError, SourceError
from schemas.recipe.expanded import ExpandedRecipe
from schemas.recipe.pointer import escape
from schemas.tables import JobRow
from workers.engine.packaging import Packaging
from workers.engine.plan import Plan, plan_conversion
from workers.engine.sources.roots import Roots
from workers.recipe_expansion import Document, expanded
from workers.recipe_records import document_of
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


@dataclass(frozen=True, slots=True)
class Places:
    """Where a submission's sources and resources are, by name."""

    sources: Mapping[str, Path]
    resources: Mapping[str, Path]


def locate(submission: Submission, recipe: ExpandedRecipe, settings: Settings) -> Places:
    """The places that a submission names, each below a source root.

    Raises PlanError with every name that is unbound or unknown and every place that is not allowed; the faults'
    pointers lead into the submission. Whether anything is there is found out by planning.
    """
    faults = [
        *_name_faults("sources", submission.sources, recipe.sources, required=recipe.sources),
        *_name_faults("resources", submission.resources, [one.name for one in recipe.resources], required=()),
    ]
    roots = Roots(settings.source_roots)
    sources = _located("source", submission.sources, roots, faults)
    resources = _located("resource", submission.resources, roots, faults)
    if faults:
        raise PlanError("places", faults, expected="a place below the source roots for every source of the recipe")
    return Places(sources, resources)


def plan_submission(submission: Submission, settings: Settings) -> Plan:
    """Plans a submission: header reads only. Raises RecipeError, PlanError, SourceError."""
    recipe = submission.expand()
    places = locate(submission, recipe, settings)
    return plan_conversion(
        recipe,
        places.sources,
        resources=places.resources,
        packaging=submission.packaging,
        roots=Roots(settings.source_roots),
    )


def _name_faults(
    member: str, given: Mapping[str, str], known: Collection[str], *, required: Collection[str]
) -> list[Fault]:
    unknown = [
        Fault(f"/{member}/{escape(name)}", f"expected one of {', '.join(known) or 'none'}, found {name!r}")
        for name in given
        if name not in known
    ]
    unbound = [
        Fault(f"/{member}", f"expected a place for {name!r}, found none") for name in required if name not in given
    ]
    return unknown + unbound


def _located(kind: str, given: Mapping[str, str], roots: Roots, faults: list[Fault]) -> dict[str, Path]:
    places: dict[str, Path] = {}
    for name, where in given.items():
        try:
            place = place_below(where, roots, f"{kind} {name}")
            roots.resolve(place, f"{kind} {name}")
        except SourceError as error:
            faults.append(Fault(f"/{kind}s/{escape(name)}", str(error)))
        else:
            places[name] = place
    return places


def place_below(where: str, roots: Roots, owner: str) -> Path:
    """The path that a text means. A relative one is below the first root that has something there.

    Raises SourceError, which `owner` begins, for a URI, and where there are no roots.
    """
    if "://" in where or where.startswith("hf:"):
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
