"""From the body of a request to what planning takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.errors import Fault, RecipeError, RegistryError
from schemas.interface import JobRequest
from service.registered_documents import registered_document
from workers.engine.packaging import Packaging
from workers.submission import Submission


def submission_of(body: JobRequest) -> Submission:
    """What a body asks for. Raises RecipeError for the id of a recipe that is not registered."""
    return Submission(
        document=body.recipe if isinstance(body.recipe, dict) else _registered(body.recipe),
        let=body.let,
        sources=body.sources,
        resources=body.resources,
        packaging=Packaging(None if body.framing == "auto" else body.framing, body.part_bytes),
        allow_unexecutable=body.allow_unexecutable,
        verify=body.verify,
        device=body.device,
    )


def _registered(recipe_id: str) -> Mapping[str, Any]:
    try:
        return registered_document(recipe_id)
    except RegistryError as error:
        fault = Fault("/recipe", f"expected {error.expected}, found {error.found}")
        raise RecipeError("recipe", [fault], expected="a registered recipe, or a document") from None
