"""From the body of a request to what planning takes."""

from __future__ import annotations

from schemas.errors import DeviceError, Fault, RecipeError
from schemas.interface import JobRequest
from service.registered_documents import registered_document
from workers.database import Database
from workers.devices import CUDA
from workers.engine.packaging import Packaging
from workers.engine.recipe.registered import registered_ids
from workers.recipe_expansion import Document
from workers.recipe_records import document_of, stored_recipe
from workers.settings import Settings
from workers.submission import Submission


def submission_of(body: JobRequest, database: Database) -> Submission:
    """What a body asks for. Raises RecipeError for the id of a recipe that is neither registered nor stored."""
    return Submission(
        document=Document.of(body.recipe) if isinstance(body.recipe, dict) else known_document(body.recipe, database),
        let=body.let,
        sources=body.sources,
        resources=body.resources,
        packaging=Packaging(None if body.framing == "auto" else body.framing, body.part_bytes),
        allow_unexecutable=body.allow_unexecutable,
        verify=body.verify,
        device=body.device,
    )


def require_device(body: JobRequest, settings: Settings) -> None:
    """Raises DeviceError for a device that no worker has: where the queue is files, workers share these settings."""
    if body.device == CUDA and settings.broker_url is None and settings.device != CUDA:
        raise DeviceError(
            "/device", expected="auto or cpu, since workers here run with NINFORGE_DEVICE=cpu", found=CUDA
        )


def known_document(recipe_id: str, database: Database) -> Document:
    """The document of a registered recipe, or of the newest revision of a stored one. Raises RecipeError where there is
    neither."""
    if recipe_id in registered_ids():
        return registered_document(recipe_id)
    with database.reading() as session:
        stored = stored_recipe(session, recipe_id)
        if stored is not None:
            return document_of(stored.recipe)
    expected = f"one of {', '.join(registered_ids())}, or the id of a stored recipe"
    fault = Fault("/recipe", f"expected {expected}, found {recipe_id!r}")
    raise RecipeError("recipe", [fault], expected="a registered or stored recipe, or a document")
