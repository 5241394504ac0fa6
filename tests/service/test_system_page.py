"""The page of the system: workers as they are, checks that fail, disk and queues."""

from __future__ import annotations

import re
import shutil
from datetime import timedelta
from html import unescape

import pytest

from schemas.states import JobState
from tests.job_rows import add_job, worker_row
from tests.running_service import RunningService
from workers import claims
from workers.application import wake
from workers.database import database_time


def text_of(service: RunningService) -> str:
    """What the page says, in one line."""
    answer = service.client.get("/system")
    assert answer.status_code == 200, answer.text
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", answer.text)))


def test_without_workers_it_says_how_to_start_one(service: RunningService) -> None:
    text = text_of(service)
    assert "No worker has been there within a day." in text
    assert "Workers: no worker is alive" in text


@pytest.mark.parametrize("name", ["<b>gpu</b>"])
def test_each_worker_is_shown_with_what_it_is_at(either: RunningService, name: str) -> None:
    job_id = add_job(either.database, JobState.CONVERTING, (10, 30))
    with either.database.writing() as session:
        now = database_time(session)
        session.add_all(
            [
                worker_row("busy", host=name, pid=4711, device="cuda", threads=8, version="9.8.7"),
                worker_row("idle", heartbeat_at=now - timedelta(minutes=3, seconds=4)),
                worker_row("lost", expires_at=now),
                worker_row("ended", ended_at=now),
            ]
        )
        assert claims.claim_objects(session, job_id, worker="busy", lease=timedelta(minutes=1), max_bytes=100)
    text = text_of(either)
    assert f"{name} , process 4711 busy ◑ busy" in text.replace(f"{name},", f"{name} ,")
    assert "encoding of acme object-1 cuda cuda, cpu 8" in text
    assert "9.8.7" in text
    assert "3 min 04 s ago" in text
    assert re.search(r"lost \S+ lost", text)
    assert re.search(r"ended \S+ ended", text)
    assert "no worker is alive" not in text
    assert f"/jobs/{job_id}" in either.client.get("/system").text


def test_queues_disk_and_versions(either: RunningService) -> None:
    for queue in ("cpu", "cpu", "cuda"):
        wake(either.application.state.service.queue, add_job(either.database), queue)
    text = text_of(either)
    assert "Queue cpu 2 waiting Queue cuda 1 waiting" in text
    assert re.search(r"Free for files [\d.]+ [kMGT]B of [\d.]+ [MGTP]B", text)
    assert re.search(r"Database (SQLite 3|PostgreSQL 1\d)", text)
    assert str(either.settings.data) not in either.client.get("/system").text


def test_a_check_that_fails_is_named(service: RunningService) -> None:
    shutil.rmtree(service.settings.data / "queue")
    (service.settings.data / "queue").write_text("no folder")
    text = text_of(service)
    assert "Queue: cannot be used; the log has the details" in text
    assert "Messages cannot be counted" in text
