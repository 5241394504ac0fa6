"""A cluster as processes: PostgreSQL, Redis, `ninforge serve` and workers that share its jobs."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import URL, select

from schemas.tables import ClaimRow
from tests.running_service import running_service
from tests.servers import postgresql_database_on, redis_database
from tests.service_processes import COMMAND, QUICK, Service, command, long_job, service, until
from tests.small_job import write_checkpoint
from workers.database import Database

LAYERS = 40


@dataclass(frozen=True)
class Cluster:
    """The API with its database and queue, and the settings under which workers join it."""

    serving: Service
    database: Database
    queue: Redis
    environment: Mapping[str, str]

    def workers(self) -> dict[str, dict[str, Any]]:
        """Those that are alive, by name."""
        items = self.serving.client.get("/v1/workers").json()["items"]
        return {worker["name"]: worker for worker in items if worker["state"] in {"busy", "idle"}}

    def objects(self, job_id: str) -> list[dict[str, Any]]:
        objects: list[dict[str, Any]] = self.serving.client.get(f"/v1/jobs/{job_id}/objects?limit=1000").json()["items"]
        return objects

    def states(self, job_id: str) -> list[str]:
        """Every state that was told of a job that has ended."""
        headers = {"Last-Event-ID": "0"}
        lines = self.serving.client.get(f"/v1/jobs/{job_id}/events", headers=headers).text.splitlines()
        told = pairwise(lines)
        return [data.split('"')[3] for kind, data in told if kind == "event: state"]

    def claims_of(self, worker: str) -> list[int]:
        with self.database.reading() as session:
            return list(session.scalars(select(ClaimRow.id).where(ClaimRow.worker == worker)))

    def stop_in_a_batch(self, worker: subprocess.Popen[str]) -> str:
        """Stops a process while it holds a claim, without its knowing; its name."""

        def stopped() -> str | None:
            [name] = [name for name, found in self.workers().items() if found["pid"] == worker.pid]
            worker.send_signal(signal.SIGSTOP)
            if self.claims_of(name):
                return name
            worker.send_signal(signal.SIGCONT)
            return None

        name = until(stopped, lambda found: found is not None)
        assert name is not None
        return name


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """SHA-256 of the artifact of the long job."""
    with running_service(tmp_path_factory.mktemp("undisturbed") / "data") as undisturbed:
        write_checkpoint(undisturbed.settings.data / "sources" / "small", layers=LAYERS)
        job_id = undisturbed.client.post("/v1/jobs", json=long_job(LAYERS)).json()["id"]
        digest: str = undisturbed.work(job_id)["artifact"]["sha256"]
    return digest


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, postgresql: URL) -> Iterator[Cluster]:
    """Without workers: each test starts its own."""
    data = tmp_path_factory.mktemp("cluster") / "data"
    write_checkpoint(data / "sources" / "small", layers=LAYERS)
    with ExitStack() as stack:
        url = stack.enter_context(postgresql_database_on(postgresql))
        redis = stack.enter_context(redis_database())
        environment = {
            "NINFORGE_DATA": str(data),
            "NINFORGE_DATABASE_URL": url.render_as_string(hide_password=False),
            "NINFORGE_BROKER_URL": redis,
            "NINFORGE_BATCH_BYTES": "1",
            **QUICK,
        }
        upgraded = subprocess.run(
            [COMMAND, "db", "upgrade"], env={**os.environ, **environment}, capture_output=True, text=True, check=True
        )
        assert url.database is not None
        assert url.database in upgraded.stdout
        database = Database(url)
        stack.callback(database.close)
        queue = stack.enter_context(Redis.from_url(redis))
        yield Cluster(stack.enter_context(service("serve", environment)), database, queue, environment)


@pytest.fixture
def two_workers(cluster: Cluster) -> Iterator[list[subprocess.Popen[str]]]:
    with ExitStack() as stack:
        workers = [stack.enter_context(command("worker", environment=cluster.environment)) for _ in range(2)]
        pids = {worker.pid for worker in workers}
        until(lambda: {found["pid"] for found in cluster.workers().values()}, lambda alive: alive >= pids)
        yield workers
        for worker in workers:
            if worker.poll() is None:
                worker.send_signal(signal.SIGCONT)
                worker.send_signal(signal.SIGTERM)
                assert worker.wait(60) == 0
    until(cluster.workers, lambda alive: not alive)


@pytest.mark.usefixtures("two_workers")
def test_workers_share_a_job_and_one_of_them_finishes_it(cluster: Cluster, expected: str) -> None:
    serving = cluster.serving
    for_a_gpu = serving.submit({**long_job(2), "device": "cuda"})
    job = serving.finished(serving.submit(long_job(LAYERS)))
    assert (job["state"], job["error"]) == ("ready", None)
    assert job["artifact"]["sha256"] == expected
    assert {one["worker"] for one in cluster.objects(job["id"])} == set(cluster.workers())
    assert cluster.states(job["id"]) == ["queued", "planning", "converting", "verifying", "ready"]
    # No worker here has a GPU, and each has looked for something to do since.
    assert serving.job(for_a_gpu)["state"] == "queued"
    assert cluster.queue.llen("cuda") == 1
    assert 'ninforge_queue_messages{queue="cuda"} 1.0' in serving.client.get("/metrics").text
    assert all(found["queues"] == ["cpu"] for found in cluster.workers().values())
    serving.client.post(f"/v1/jobs/{for_a_gpu}/cancel")


def test_a_worker_that_is_killed_in_a_batch_is_not_waited_for(
    cluster: Cluster, two_workers: list[subprocess.Popen[str]], expected: str
) -> None:
    """Redis would give out the message of the dead worker again after a minute and a half: nobody needs it."""
    job_id = cluster.serving.submit(long_job(LAYERS))
    cluster.serving.converting(job_id, objects_done=4)
    name = cluster.stop_in_a_batch(two_workers[0])
    two_workers[0].kill()
    job = cluster.serving.finished(job_id)
    assert (job["state"], job["artifact"]["sha256"]) == ("ready", expected)
    assert cluster.queue.hlen("unacked") >= 1
    assert cluster.states(job_id) == ["queued", "planning", "converting", "verifying", "ready"]
    lost = until(
        lambda: next(one for one in cluster.serving.client.get("/v1/workers").json()["items"] if one["name"] == name),
        lambda worker: worker["state"] == "lost",
    )
    assert lost["task"] is None


def test_a_worker_that_comes_too_late_changes_nothing(
    cluster: Cluster, two_workers: list[subprocess.Popen[str]], expected: str
) -> None:
    job_id = cluster.serving.submit(long_job(LAYERS))
    cluster.serving.converting(job_id, objects_done=4)
    late = cluster.stop_in_a_batch(two_workers[0])
    job = cluster.serving.finished(job_id)
    assert job["artifact"]["sha256"] == expected
    before = cluster.objects(job_id)
    two_workers[0].send_signal(signal.SIGCONT)
    until(cluster.workers, lambda alive: late in alive)
    other = cluster.serving.finished(cluster.serving.submit(long_job(8)))
    assert other["state"] == "ready"
    assert two_workers[0].poll() is None
    assert (cluster.serving.job(job_id), cluster.objects(job_id)) == (job, before)
    content = cluster.serving.client.get(f"/v1/jobs/{job_id}/artifact")
    assert content.headers["etag"] == f'"{expected}"'


def test_a_short_job_does_not_wait_for_a_long_one(cluster: Cluster) -> None:
    with command("worker", environment=cluster.environment):
        long = cluster.serving.submit(long_job(LAYERS))
        cluster.serving.converting(long, objects_done=4)
        short = cluster.serving.finished(cluster.serving.submit(long_job(4)))
        assert (short["state"], cluster.serving.job(long)["state"]) == ("ready", "converting")
        assert cluster.serving.finished(long)["state"] == "ready"
