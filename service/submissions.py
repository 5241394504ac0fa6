"""From the body of a request to what planning takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.errors import DeviceError, Fault, RecipeError, RegistryError
from schemas.interface import JobRequest
from service.registered_documents import registered_document
from workers.devices import CUDA
from workers.engine.packaging import Packaging
from workers.settings import Settings
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


def require_device(body: JobRequest, settings: Settings) -> None:
    """Raises DeviceError for a device that no worker has: where the queue is files, workers share these settings."""
    if body.device == CUDA and settings.broker_url is None and settings.device != CUDA:
        raise DeviceError(
            "/device", expected="auto or cpu, since workers here run with NINFORGE_DEVICE=cpu", found=CUDA
        )


def _registered(recipe_id: str) -> Mapping[str, Any]:
    try:
        return registered_document(recipe_id)
    except RegistryError as error:
        fault = Fault("/recipe", f"expected {error.expected}, found {error.found}")
        raise RecipeError("recipe", [fault], expected="a registered recipe, or a document") from None
