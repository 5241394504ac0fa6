"""Names below the source roots, for completion."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query

from schemas.interface import Page, SourceEntry
from service.dependencies import CurrentService, Limit
from service.source_names import source_entries

router = APIRouter(prefix="/v1/sources", tags=["sources"])

PlaceName = Annotated[str, Query(max_length=4096)]


@router.get("")
def list_sources(
    service: CurrentService, under: PlaceName = "", limit: Limit = 1000, cursor: PlaceName | None = None
) -> Page[SourceEntry]:
    """Folders and files in a folder below the source roots, as a job names them; without `under`, in the roots."""
    found = list(islice(source_entries(under, service.settings, cursor), limit + 1))
    return Page(items=tuple(found[:limit]), next=found[limit - 1].name if len(found) > limit else None)
