"""Many clients that submit at once, each one job after another, and how long every request of theirs took.

Threads and the standard library's client: it takes a tenth of the service's own processor time, so that what is
measured is the service.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from threading import Barrier
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

_TIMEOUT_SECONDS = 120


@dataclass(frozen=True)
class Submitted:
    """The ids of the jobs as they were answered, and the seconds of each request: one to submit, and one to look where
    clients do."""

    ids: tuple[str, ...]
    submit_seconds: tuple[float, ...]
    show_seconds: tuple[float, ...]
    seconds: float


def submit_all(
    url: str, body: Mapping[str, Any], *, clients: int, each: int, look: bool = True, pause: float = 0.0
) -> Submitted:
    """Submits `clients` times `each` jobs, and looks at each of them once where told to; clients then pause for some
    seconds.

    Raises RuntimeError for a refusal.
    """
    start = Barrier(clients + 1)
    with ThreadPoolExecutor(clients) as pool:
        futures = [pool.submit(_client, url, body, each, look, pause, start) for _ in range(clients)]
        start.wait(_TIMEOUT_SECONDS)
        began = time.perf_counter()
        made = [one for future in futures for one in future.result()]
    ids, submitting, showing = zip(*made, strict=True)
    return Submitted(ids, submitting, showing if look else (), time.perf_counter() - began)


def percentile(seconds: tuple[float, ...], share: float) -> float:
    """The least of the times that this share of them does not exceed."""
    return sorted(seconds)[max(0, -int(-share * len(seconds) // 1) - 1)]


def _client(
    url: str, body: Mapping[str, Any], each: int, look: bool, pause: float, start: Barrier
) -> list[tuple[str, float, float]]:
    made = []
    with closing(HTTPConnection(urlsplit(url).netloc, timeout=_TIMEOUT_SECONDS)) as connection:
        _asked(connection, "GET", "/healthz")  # connected before it counts
        start.wait(_TIMEOUT_SECONDS)
        for _ in range(each):
            began = time.perf_counter()
            job_id = str(_asked(connection, "POST", "/v1/jobs", body)["id"])
            submitted = time.perf_counter()
            if look:
                _asked(connection, "GET", f"/v1/jobs/{job_id}")
            made.append((job_id, submitted - began, time.perf_counter() - submitted))
            time.sleep(pause)
    return made


def _asked(connection: HTTPConnection, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    headers = {"Content-Type": "application/json", "Idempotency-Key": str(uuid4())} if body is not None else {}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status >= 400:
        raise RuntimeError(f"{method} {path}: expected success, found {answer.status}: {text.decode()}")
    found: dict[str, Any] = json.loads(text)
    return found
