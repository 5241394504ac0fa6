"""Many clients that submit at once, each one job after another, and how long every request of theirs took."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx

_TIMEOUT = httpx.Timeout(120)


@dataclass(frozen=True)
class Submitted:
    """The ids of the jobs as they were answered, and the seconds of each request: one to submit, one to look."""

    ids: tuple[str, ...]
    submit_seconds: tuple[float, ...]
    show_seconds: tuple[float, ...]
    seconds: float


def submit_all(url: str, body: Mapping[str, Any], *, clients: int, each: int) -> Submitted:
    """Submits `clients` times `each` jobs, and looks at each of them once. Raises HTTPStatusError for a refusal."""
    return asyncio.run(_submit_all(url, body, clients, each))


def percentile(seconds: tuple[float, ...], share: float) -> float:
    """The least of the times that this share of them does not exceed."""
    return sorted(seconds)[max(0, -int(-share * len(seconds) // 1) - 1)]


async def _submit_all(url: str, body: Mapping[str, Any], clients: int, each: int) -> Submitted:
    start = asyncio.Event()
    tasks = [asyncio.create_task(_client(url, body, each, start)) for _ in range(clients)]
    await asyncio.sleep(0)
    began = time.perf_counter()
    start.set()
    made = [one for found in await asyncio.gather(*tasks) for one in found]
    ids, submitting, showing = zip(*made, strict=True)
    return Submitted(ids, submitting, showing, time.perf_counter() - began)


async def _client(url: str, body: Mapping[str, Any], each: int, start: asyncio.Event) -> list[tuple[str, float, float]]:
    made = []
    async with httpx.AsyncClient(base_url=url, timeout=_TIMEOUT) as client:
        await client.get("/healthz")  # connected before it counts
        await start.wait()
        for _ in range(each):
            began = time.perf_counter()
            answer = await client.post("/v1/jobs", json=body, headers={"Idempotency-Key": str(uuid4())})
            submitted = time.perf_counter()
            job_id = str(answer.raise_for_status().json()["id"])
            looked = time.perf_counter()
            (await client.get(f"/v1/jobs/{job_id}")).raise_for_status()
            made.append((job_id, submitted - began, time.perf_counter() - looked))
    return made
