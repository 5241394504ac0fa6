"""What Prometheus is told: as much as is in SQL, on both databases, and no more than a reader may see."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import update

from schemas.problems import TYPE_PREFIX
from schemas.states import JobState, ObjectState, Stage
from schemas.tables import ClaimRow, JobRow, ObjectRow, WorkerRow
from service.dependencies import Service
from service.metrics import metrics_document
from tests.job_rows import add_job, worker_row
from tests.running_service import RunningService
from workers.application import celery_application, wake
from workers.database import Database, database_time
from workers.settings import Settings
from workers.storage import Storage

Samples = Mapping[tuple[str, str | tuple[str, ...] | None], float]


def parsed(text: str) -> Samples:
    """Values by name, without the prefix that all have, and value of the only label, or values of several."""
    samples: dict[tuple[str, str | tuple[str, ...] | None], float] = {}
    for family in text_string_to_metric_families(text):
        assert family.type == "gauge"
        assert family.documentation.endswith(".")
        for sample in family.samples:
            assert sample.name.startswith("ninforge_")
            labels = tuple(sample.labels.values())
            label = labels if len(labels) > 1 else next(iter(labels), None)
            samples[sample.name.removeprefix("ninforge_"), label] = sample.value
    return samples


@pytest.fixture
def parts(database: Database, tmp_path: Path) -> Service:
    """The parts of a service on each of the two databases."""
    settings = Settings(data=tmp_path / "data")
    storage = Storage(settings.data)
    storage.prepare()
    return Service.of(settings, database, storage, celery_application(settings))


def scraped(parts: Service) -> Samples:
    return parsed(metrics_document(parts).decode())


def test_an_empty_service_tells_of_everything_there_can_be(parts: Service) -> None:
    samples = dict(scraped(parts))
    assert samples.pop(("disk_free_bytes", None)) > 0
    names = {
        *(("jobs", state) for state in JobState),
        *((name, state) for state in ObjectState for name in ("objects", "object_bytes")),
        *(("claims", stage) for stage in Stage),
        *(("bytes_per_second", state) for state in ("converting", "verifying")),
        ("failed_jobs", "verification"),
        *(("queue_messages", queue) for queue in ("cpu", "cuda")),
        *(("workers", (device, state)) for device in ("cpu", "cuda") for state in ("busy", "idle", "lost")),
        *((name, None) for name in ("expired_claims", "oldest_queued_seconds")),
    }
    assert samples == dict.fromkeys(names, 0)


def test_jobs_are_counted_by_state_and_failures_by_problem(parts: Service) -> None:
    for state in (JobState.READY, JobState.READY, JobState.CANCELLED, JobState.QUEUED):
        add_job(parts.database, state)
    for slug in ("verification", "verification", "source"):
        job_id = add_job(parts.database, JobState.FAILED)
        with parts.database.writing() as session:
            session.get_one(JobRow, job_id).error = {"type": f"{TYPE_PREFIX}{slug}"}
    samples = scraped(parts)
    assert {state: samples["jobs", state] for state in JobState} == {
        **dict.fromkeys(JobState, 0),
        JobState.READY: 2,
        JobState.CANCELLED: 1,
        JobState.QUEUED: 1,
        JobState.FAILED: 3,
    }
    assert (samples["failed_jobs", "verification"], samples["failed_jobs", "source"]) == (2, 1)


def test_a_queued_job_grows_older(parts: Service) -> None:
    for minutes in (5, 50):
        job_id = add_job(parts.database)
        with parts.database.writing() as session:
            session.get_one(JobRow, job_id).created_at = database_time(session) - timedelta(minutes=minutes)
    assert 3000 <= scraped(parts)["oldest_queued_seconds", None] < 3060


def test_objects_and_bytes_are_counted_by_state(parts: Service) -> None:
    big = 2**40
    add_job(parts.database, JobState.CONVERTING, (100, 10))
    failed = add_job(parts.database, JobState.FAILED, (7,))
    ready = [add_job(parts.database, JobState.READY, sizes) for sizes in ((1, 2, big), (5,))]
    with parts.database.writing() as session:
        session.execute(
            update(ObjectRow).where(ObjectRow.job_id.in_([failed, *ready])).values(state=ObjectState.VERIFIED)
        )
        for job_id, (objects, size) in zip(ready, ((3, big + 3), (1, 5)), strict=True):
            job = session.get_one(JobRow, job_id)
            job.objects_total, job.payload_bytes = objects, size
    samples = scraped(parts)
    assert (samples["objects", "pending"], samples["object_bytes", "pending"]) == (2, 110)
    assert (samples["objects", "verified"], samples["object_bytes", "verified"]) == (5, big + 15)
    assert samples["objects", "encoding"] == samples["objects", "encoded"] == 0


def test_rates_are_summed_over_the_jobs_of_a_state(parts: Service) -> None:
    for seconds in (10, 20):
        job_id = add_job(parts.database, JobState.CONVERTING, (1000,))
        with parts.database.writing() as session:
            job = session.get_one(JobRow, job_id)
            job.objects_total, job.payload_bytes = 1, 1000
            job.stage_started_at = database_time(session) - timedelta(seconds=seconds)
            session.execute(update(ObjectRow).where(ObjectRow.job_id == job_id).values(bytes_done=1000))
    samples = scraped(parts)
    assert 100 < samples["bytes_per_second", "converting"] <= 150
    assert samples["bytes_per_second", "verifying"] == 0


def test_claims_are_counted_while_they_are_alive(parts: Service) -> None:
    claims = [
        ("a", Stage.ENCODING, 60),
        ("a", Stage.ENCODING, 60),
        ("b", Stage.VERIFYING, 60),
        ("c", Stage.ENCODING, -1),
    ]
    job_ids = [add_job(parts.database, JobState.CONVERTING) for _ in claims]
    with parts.database.writing() as session:
        now = database_time(session)
        session.add_all(
            ClaimRow(job_id=job_id, stage=stage, worker=worker, expires_at=now + timedelta(seconds=seconds))
            for job_id, (worker, stage, seconds) in zip(job_ids, claims, strict=True)
        )
    samples = scraped(parts)
    assert (samples["claims", "encoding"], samples["claims", "verifying"], samples["claims", "planning"]) == (2, 1, 0)
    assert samples["expired_claims", None] == 1


def test_workers_are_counted_by_device_and_what_they_do(parts: Service) -> None:
    sizes = [("a", "cpu", 60), ("b", "cpu", 60), ("c", "cuda", 60), ("d", "cuda", -1), ("e", "cpu", 60)]
    job_id = add_job(parts.database, JobState.CONVERTING)
    with parts.database.writing() as session:
        now = database_time(session)
        session.add_all(
            worker_row(name, device=device, heartbeat_at=now, expires_at=now + timedelta(seconds=seconds))
            for name, device, seconds in sizes
        )
        session.flush()
        session.get_one(WorkerRow, "e").ended_at = now
        session.add_all(
            ClaimRow(job_id=job_id, stage=Stage.ENCODING, worker=name, expires_at=now + timedelta(seconds=seconds))
            for name, seconds in (("a", 60), ("b", -1), ("d", 60))
        )
    samples = scraped(parts)
    found = {labels: value for (name, labels), value in samples.items() if name == "workers" and value}
    assert found == {("cpu", "busy"): 1, ("cpu", "idle"): 1, ("cuda", "idle"): 1, ("cuda", "lost"): 1}


def test_messages_that_wait_are_counted(parts: Service) -> None:
    for queue in ("cpu", "cpu", "cuda"):
        wake(parts.queue, add_job(parts.database), queue)
    samples = scraped(parts)
    assert (samples["queue_messages", "cpu"], samples["queue_messages", "cuda"]) == (2, 1)


def test_a_queue_that_cannot_be_reached_hides_nothing_else(parts: Service) -> None:
    settings = Settings(data=parts.settings.data, broker_url="redis://127.0.0.1:1/0")
    samples = scraped(Service.of(settings, parts.database, parts.storage, celery_application(settings)))
    assert "queue_messages" not in {name for name, _ in samples}
    assert samples["jobs", "ready"] == 0


def test_a_job_s_work_shows_over_http(service: RunningService) -> None:
    job = service.work(service.submit())
    answer = service.client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    samples = parsed(answer.text)
    assert samples["jobs", "ready"] == 1
    assert samples["objects", "verified"] == job["progress"]["objects_total"]
    assert samples["object_bytes", "verified"] == job["progress"]["bytes_total"]


def test_the_documentation_names_each_metric(service: RunningService) -> None:
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
    names = {name for name, _ in parsed(service.client.get("/metrics").text)}
    assert set(re.findall(r"ninforge_([a-z_]+)", page)) == names
