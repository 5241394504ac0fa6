"""The service as processes: from submission to download, killed and stopped in the middle, and started again."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import URL

from tests.service_processes import COMMAND, QUICK, Service, children, command, is_alive, long_job, service, until
from tests.small_job import job_body, write_checkpoint
from workers.database import Database

LAYERS = 60


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    """Settings of a service that claims one object at a time, over a checkpoint of many."""
    write_checkpoint(tmp_path / "data" / "sources" / "small", layers=LAYERS)
    return {"NINFORGE_DATA": str(tmp_path / "data"), "NINFORGE_BATCH_BYTES": "1", **QUICK}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """SHA-256 of the artifact of the long job, made by a service that nobody disturbs."""
    data = tmp_path_factory.mktemp("undisturbed")
    write_checkpoint(data / "sources" / "small", layers=LAYERS)
    with service("up", {"NINFORGE_DATA": str(data)}) as running:
        job = running.finished(running.submit(long_job(LAYERS)))
    digest: str = job["artifact"]["sha256"]
    return digest


def test_from_nothing_to_a_verified_download(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "data" / "sources" / "small", layers=8)
    with service("up", {"NINFORGE_DATA": str(tmp_path / "data")}) as running:
        job = running.finished(running.submit(job_body()))
        assert (job["state"], job["error"]) == ("ready", None)
        content = running.client.get(f"/v1/jobs/{job['id']}/artifact").content
        assert sha256(content).hexdigest() == job["artifact"]["sha256"]
        worker = running.worker()
        assert running.terminate() == 0
        assert not is_alive(worker)


def test_data_is_where_the_command_is_run_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with service("up", {}) as running:
        assert running.client.get("/v1/jobs").json() == {"items": [], "next": None}
    assert {path.name for path in (tmp_path / "ninforge-data").iterdir()} >= {"ninforge.sqlite3", "sources", "work"}


def test_a_worker_that_is_killed_twice_in_a_job_costs_nothing_but_time(
    environment: Mapping[str, str], undisturbed: str
) -> None:
    with service("up", environment) as running:
        job_id = running.submit(long_job(LAYERS))
        for objects_done in (8, 25):
            running.converting(job_id, objects_done=objects_done)
            killed = running.worker()
            os.kill(killed, signal.SIGKILL)
            _worker_after(running, killed)
        job = running.finished(job_id)
        assert (job["state"], job["artifact"]["sha256"]) == ("ready", undisturbed)
        content = running.client.get(f"/v1/jobs/{job_id}/artifact").content
        assert sha256(content).hexdigest() == undisturbed


def test_a_worker_does_not_outlive_a_service_that_is_killed(environment: Mapping[str, str], undisturbed: str) -> None:
    with service("up", environment) as running:
        job_id = running.submit(long_job(LAYERS))
        running.converting(job_id, objects_done=8)
        worker = running.worker()
        running.process.kill()
        until(lambda: is_alive(worker), lambda alive: not alive)
    with service("up", environment) as running:
        assert running.finished(job_id)["artifact"]["sha256"] == undisturbed


def test_stopping_in_a_job_hands_its_claim_back_at_once(environment: Mapping[str, str], undisturbed: str) -> None:
    with service("up", {**environment, "NINFORGE_LEASE_SECONDS": "3600"}) as running:
        job_id = running.submit(long_job(LAYERS))
        running.converting(job_id, objects_done=8)
        assert running.terminate() == 0
    with service("up", environment) as running:
        assert running.finished(job_id)["artifact"]["sha256"] == undisturbed


def test_jobs_that_were_queued_when_the_service_ended_are_done_after_it(environment: Mapping[str, str]) -> None:
    with service("up", environment) as running:
        os.kill(running.worker(), signal.SIGSTOP)
        jobs = [running.submit(long_job(8 + number)) for number in range(3)]
        os.kill(running.worker(), signal.SIGKILL)
    messages = Path(environment["NINFORGE_DATA"]) / "queue" / "messages"
    for message in messages.iterdir():
        message.unlink()
    with service("up", environment) as running:
        assert [running.finished(job_id)["state"] for job_id in jobs] == ["ready"] * 3


def test_a_data_folder_is_for_one_service(environment: Mapping[str, str]) -> None:
    with service("up", environment):
        second = subprocess.run(
            [COMMAND, "up"], env={**os.environ, **environment}, capture_output=True, text=True, check=False
        )
    assert second.returncode == 1
    assert "in use by another" in second.stderr


def test_a_port_that_is_taken_is_told(environment: Mapping[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        started = subprocess.run(
            [COMMAND, "up"],
            env={**os.environ, **environment, "NINFORGE_PORT": port},
            capture_output=True,
            text=True,
            check=False,
        )
    assert started.returncode == 1
    assert f"port {port}" in started.stderr
    assert "Traceback" not in started.stderr


def test_workers_of_a_cluster_share_jobs_and_survive_each_other(
    environment: Mapping[str, str], postgresql_url: URL, postgresql_database: Database, undisturbed: str
) -> None:
    assert postgresql_database.engine.url.database == postgresql_url.database
    url = postgresql_url.render_as_string(hide_password=False)
    cluster = {**environment, "NINFORGE_DATABASE_URL": url}
    with ExitStack() as stack:
        running = stack.enter_context(service("serve", cluster))
        workers = [stack.enter_context(command("worker", environment=cluster)) for _ in range(2)]
        job_id = running.submit(long_job(LAYERS))
        running.converting(job_id, objects_done=8)
        workers[0].kill()
        job = running.finished(job_id)
        assert (job["state"], job["artifact"]["sha256"]) == ("ready", undisturbed)
        assert workers[1].poll() is None


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_kills_at_random_moments(environment: Mapping[str, str], undisturbed: str) -> None:
    moments = random.Random(20260506)  # noqa: S311 - when to kill is no secret
    with service("up", environment) as running:
        for _ in range(5):
            job_id = running.submit(long_job(LAYERS))
            for _ in range(4):
                time.sleep(moments.uniform(0, 20))
                _kill_children(running)
            job = running.finished(job_id)
            assert (job["state"], job["artifact"]["sha256"]) == ("ready", undisturbed)


def _worker_after(running: Service, killed: int) -> int:
    """The process id of the worker that follows one that was killed."""
    return until(lambda: set(children(running.process.pid)) - {killed}, bool).pop()


def _kill_children(running: Service) -> None:
    for child in children(running.process.pid):
        os.kill(child, signal.SIGKILL)
