"""Cancelling while real workers are at a job: they stop, the disk is free again, and they do other jobs."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import URL

from tests.service_processes import QUICK, Service, children, command, long_job, service, until
from tests.small_job import write_checkpoint
from workers.database import Database

LAYERS = 60


@pytest.fixture(params=["embedded", "cluster"])
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Service, Path]]:
    """A service with one worker, or with two and PostgreSQL, and its data folder."""
    data = tmp_path / "data"
    write_checkpoint(data / "sources" / "small", layers=LAYERS)
    environment = {"NINFORGE_DATA": str(data), "NINFORGE_BATCH_BYTES": "1", **QUICK}
    with ExitStack() as stack:
        if request.param == "embedded":
            yield stack.enter_context(service("up", environment)), data
            return
        url: URL = request.getfixturevalue("postgresql_url")
        database: Database = request.getfixturevalue("postgresql_database")
        assert database.engine.url.database == url.database
        cluster = {**environment, "NINFORGE_DATABASE_URL": url.render_as_string(hide_password=False)}
        serving = stack.enter_context(service("serve", cluster))
        for _ in range(2):
            stack.enter_context(command("worker", environment=cluster))
        yield serving, data


@pytest.mark.parametrize("state", ["planning", "converting", "verifying"])
def test_cancelling_stops_the_work_and_frees_the_disk(running: tuple[Service, Path], state: str) -> None:
    serving, data = running
    job_id = serving.submit(long_job(LAYERS))
    seen = until(lambda: serving.job(job_id)["state"], lambda found: found in {state, "ready", "failed"})
    answer = serving.client.post(f"/v1/jobs/{job_id}/cancel")
    if answer.status_code == 409:
        # What lasts a moment only may be over by the time that this comes to it.
        assert seen != "converting", answer.text
        assert serving.job(job_id)["state"] == "ready"
    else:
        assert answer.json()["state"] == "cancelled"
        until((data / "work" / job_id).exists, lambda exists: not exists)
    # Once another job is done, its worker has left this one.
    other = serving.finished(serving.submit(long_job(2)))
    assert (other["state"], other["error"]) == ("ready", None)
    assert serving.job(job_id)["state"] == ("ready" if answer.status_code == 409 else "cancelled")
    assert not (data / "work" / job_id).exists()
    if answer.status_code == 409:
        return
    assert [file.stem for file in (data / "artifacts").iterdir()] == [other["artifact"]["sha256"]]
    assert serving.client.post(f"/v1/jobs/{job_id}/retry").status_code == 202
    again = serving.finished(job_id)
    assert (again["state"], [attempt["state"] for attempt in again["attempts"]]) == ("ready", ["cancelled"])


def test_a_worker_killed_in_a_job_that_is_cancelled_does_no_harm(tmp_path: Path) -> None:
    data = tmp_path / "data"
    write_checkpoint(data / "sources" / "small", layers=LAYERS)
    with service("up", {"NINFORGE_DATA": str(data), "NINFORGE_BATCH_BYTES": "1", **QUICK}) as serving:
        job_id = serving.submit(long_job(LAYERS))
        serving.converting(job_id, objects_done=4)
        killed = serving.worker()
        os.kill(killed, signal.SIGKILL)
        assert serving.client.post(f"/v1/jobs/{job_id}/cancel").json()["state"] == "cancelled"
        assert not (data / "work" / job_id).exists()
        until(lambda: set(children(serving.process.pid)) - {killed}, bool)
        assert serving.client.post(f"/v1/jobs/{job_id}/retry").status_code == 202
        assert serving.finished(job_id)["state"] == "ready"
        assert serving.client.delete(f"/v1/jobs/{job_id}").status_code == 204
        assert list((data / "artifacts").iterdir()) == []
