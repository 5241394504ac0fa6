"""Worker processes: which there are, and what they are at."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from schemas.interface import PRINTABLE, Page, Worker
from service.dependencies import CurrentService, Limit
from service.worker_documents import worker_page

router = APIRouter(prefix="/v1/workers", tags=["workers"])


@router.get("")
def list_workers(
    service: CurrentService,
    limit: Limit = 100,
    cursor: Annotated[str | None, Query(min_length=1, max_length=300, pattern=PRINTABLE)] = None,
) -> Page[Worker]:
    """Worker processes by name, those that were lost or ended for a day."""
    with service.database.reading() as session:
        return worker_page(session, limit=limit, cursor=cursor)
