"""Jobs find workers with the device that they ask for, and workers without one say so."""

from __future__ import annotations

from pathlib import Path
from queue import Empty
from typing import Any
from uuid import uuid4

import pytest
from kombu.connection import Connection
from kombu.entity import Exchange, Queue
from sqlalchemy import select

from schemas.errors import DeviceError
from schemas.tables import ObjectRow
from tests.cuda.emulated_stream import emulated_encoders
from tests.running_service import assert_problem, running_service
from tests.workers.site import Site, make_site
from workers.application import celery_application, wake
from workers.conversion import WorkerContext
from workers.cuda import backend
from workers.database import Database
from workers.devices import JOB_DEVICES, queue_of, queues_of, served_by
from workers.process import run_worker
from workers.settings import Settings
from workers.sweeper import sweep

EMULATED = "cuda (an emulated device)"


@pytest.fixture
def site(tmp_path: Path, sqlite_database: Database) -> Site:
    return make_site(tmp_path / "data", sqlite_database)


def test_who_serves_what() -> None:
    assert served_by("cpu") == ("auto", "cpu")
    assert served_by("cuda") == JOB_DEVICES
    assert queues_of("cpu") == ("cpu",)
    assert set(queues_of("cuda")) == {"cuda", "cpu"}
    assert [queue_of(device) for device in JOB_DEVICES] == ["cpu", "cpu", "cuda"]


def test_each_device_has_a_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    application = celery_application(Settings(data=tmp_path / "data"))
    jobs = {device: uuid4() for device in JOB_DEVICES}
    for device, job_id in jobs.items():
        wake(application, job_id, queue_of(device))
    with application.connection() as connection:
        assert _taken(connection, "cuda") == [str(jobs["cuda"])]
        assert _taken(connection, "cpu") == [str(jobs["auto"]), str(jobs["cpu"])]
    assert {path.name for path in tmp_path.iterdir()} == {"data"}, "a file of bindings"


def _taken(connection: Connection, name: str) -> list[str]:
    queue = connection.SimpleQueue(Queue(name, Exchange(""), name))
    taken: list[str] = []
    while True:
        try:
            message = queue.get(timeout=0.3)
        except Empty:
            queue.close()
            return taken
        message.ack()
        taken.append(message.payload[0][0])


def test_an_idle_worker_leaves_jobs_that_it_cannot_serve(site: Site) -> None:
    on_gpu = site.submit(device="cuda")
    assert sweep(site.database, site.storage, served_by("cpu")) is None
    assert sweep(site.database, site.storage, served_by("cuda")) == on_gpu
    anywhere = site.submit(device="auto")
    assert sweep(site.database, site.storage, served_by("cpu")) == anywhere


@pytest.mark.parametrize(("device", "backend"), [("cuda", EMULATED), ("auto", EMULATED), ("cpu", "cpu")])
def test_a_worker_with_a_device_uses_it_where_it_may(site: Site, device: str, backend: str) -> None:
    plain = site.worker()
    worker = WorkerContext(
        plain.name, plain.settings, plain.database, plain.storage, plain.stopping, emulated_encoders()
    )
    job = site.advance(site.submit(device=device), worker)
    assert job.state == "ready"
    with site.database.reading() as session:
        found = session.execute(select(ObjectRow.format, ObjectRow.backend).where(ObjectRow.job_id == job.id)).all()
    backends = {str(format): by for format, by in found}
    assert backends["Q4G64_F16S"] == backends["FP8_E4M3FN_ROW_BF16S"] == backend
    assert backends["BF16"] == "cpu"


def test_a_worker_whose_device_is_missing_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        raise DeviceError("device cuda", expected="a GPU", found="none")

    monkeypatch.setattr(backend, "device_encoders", missing)
    with pytest.raises(DeviceError, match="device cuda: expected a GPU, found none"):
        run_worker(Settings(data=tmp_path / "data", device="cuda"))
    assert not (tmp_path / "data").exists()


def test_a_job_for_a_device_that_no_worker_has_is_refused(tmp_path: Path) -> None:
    Database.of(settings := Settings(data=_folder(tmp_path / "cpu"))).upgrade()
    with running_service(settings.data) as service:
        body = {"recipe": "small", "sources": {}, "device": "cuda"}
        problem = assert_problem(service.client.post("/v1/jobs", json=body), 422, "device")
        assert "NINFORGE_DEVICE=cpu, found cuda" in problem["detail"]
    Database.of(settings := Settings(data=_folder(tmp_path / "cuda"))).upgrade()
    with running_service(settings.data, device="cuda") as service:
        service.submit(device="cuda")


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
