"""Problem details (RFC 9457): what HTTP answers when something is wrong, and what a failed job shows."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from pydantic import BaseModel, ConfigDict

from schemas.errors import (
    CancelledError,
    FaultyDocumentError,
    FetchError,
    JobStateError,
    KeyReusedError,
    NinforgeError,
    OutputError,
    RecipeTakenError,
    RegisteredRecipeError,
    TooManyJobsError,
)

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:ninforge:problem:"


class ProblemFault(BaseModel):
    """One fault of a document that was sent: a JSON pointer into it, and what is wrong there; line and column, from 1,
    where the document was sent as a text by itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at: str
    message: str
    line: int | None = None
    column: int | None = None


class Problem(BaseModel):
    """A problem document. `type` is stable; `errors` lists every fault of a recipe or request, where it has some."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str
    title: str
    status: int
    detail: str
    errors: tuple[ProblemFault, ...] | None = None


_STATUS: Mapping[type[NinforgeError], HTTPStatus] = {
    OutputError: HTTPStatus.INSUFFICIENT_STORAGE,
    FetchError: HTTPStatus.BAD_GATEWAY,
    JobStateError: HTTPStatus.CONFLICT,
    KeyReusedError: HTTPStatus.CONFLICT,
    TooManyJobsError: HTTPStatus.TOO_MANY_REQUESTS,
    RecipeTakenError: HTTPStatus.CONFLICT,
    RegisteredRecipeError: HTTPStatus.CONFLICT,
    CancelledError: HTTPStatus.CONFLICT,
}
"""Every other error of the engine means that what was sent cannot be processed: 422."""


def problem(slug: str, status: HTTPStatus, title: str, detail: str) -> Problem:
    """A problem that no exception of the engine stands for."""
    return Problem(type=f"{TYPE_PREFIX}{slug}", title=title, status=status, detail=detail)


def problem_of(error: NinforgeError) -> Problem:
    """The problem document of an engine's error: its faults, if it has some, in `errors` and not in `detail`."""
    status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), HTTPStatus(422))
    summary = problem(error.slug, status, error.title, str(error))
    if not isinstance(error, FaultyDocumentError):
        return summary
    return summary.model_copy(
        update={
            "detail": str(error).partition(":\n")[0],
            "errors": tuple(ProblemFault(at=fault.at, message=fault.message) for fault in error.faults),
        }
    )


INTERNAL = problem(
    "internal",
    HTTPStatus.INTERNAL_SERVER_ERROR,
    "Internal error",
    "Something unexpected went wrong in the service. Its log has the details.",
)
"""What is said of a fault of the program itself."""
