"""Problem documents for the outside: errors of the engine without the service's own folders in their words."""

from __future__ import annotations

from schemas.errors import NinforgeError
from schemas.problems import Problem, problem_of
from workers.remote.cache import FETCHED
from workers.settings import Settings


def public_problem(error: NinforgeError, settings: Settings) -> Problem:
    """The problem document of an error. Paths in it start below the source roots or below the data folder."""
    document = problem_of(error)
    return Problem.model_validate(
        {
            **document.model_dump(),
            "detail": without_places(document.detail, settings),
            "errors": document.errors
            and [{"at": fault.at, "message": without_places(fault.message, settings)} for fault in document.errors],
        }
    )


def without_places(text: str, settings: Settings) -> str:
    """A text in which paths start below the source roots or below the data folder."""
    places = {place for root in (*settings.source_roots, settings.data) for place in (root, root.resolve())}
    for place in sorted(places, key=lambda place: -len(str(place))):
        if place.name:  # the root of the file system is no secret
            text = text.replace(f"{place}/", "").replace(str(place), place.name)
    return FETCHED.sub(r"hf:\1/\2@\3", text)
