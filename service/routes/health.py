"""Whether the process answers."""

from __future__ import annotations

from fastapi import APIRouter

from schemas.interface import Health

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> Health:
    """200 as long as the process serves requests."""
    return Health(status="ok")
