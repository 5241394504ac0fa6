"""/readyz: ready when everything can be used, else every check that fails by name, and no place of the server."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from httpx import Response
from sqlalchemy import text

from schemas.tables import WorkerRow
from service import readiness
from service.dependencies import Service
from tests.running_service import RunningService, assert_problem, running_service
from workers import liveness
from workers.application import waiting_messages
from workers.database import database_time
from workers.liveness import WorkerIdentity
from workers.storage import Storage
from workers.tokens import parse_tokens

NOBODY = "no worker is alive: jobs are taken, and wait for one"


def assert_failing(answer: Response, service: RunningService, *names: str) -> list[str]:
    """What is wrong with these checks, which have to be the ones that fail."""
    problem = assert_problem(answer, 503, "not-ready")
    assert [fault["at"] for fault in problem["errors"]] == [f"/{name}" for name in names]
    passed = set(readiness.CHECKS) - set(names)
    assert all(name in problem["detail"] for name in readiness.CHECKS)
    assert all(name in problem["detail"].partition("that pass")[2] for name in passed)
    assert str(service.settings.data) not in answer.text
    return [fault["message"] for fault in problem["errors"]]


def test_a_service_that_can_work_is_ready(service: RunningService) -> None:
    answer = service.client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ready", "checks": ["database", "queue", "disk", "roots"], "warnings": [NOBODY]}


def test_a_worker_that_is_alive_ends_the_warning(service: RunningService) -> None:
    identity = WorkerIdentity.of_this_process(service.settings)
    with service.database.writing() as session:
        liveness.beat(session, identity)
    assert service.client.get("/readyz").json()["warnings"] == []
    with service.database.writing() as session:
        session.get_one(WorkerRow, identity.name).expires_at = database_time(session)
    assert service.client.get("/readyz").json()["warnings"] == [NOBODY]
    with service.database.writing() as session:
        liveness.beat(session, identity)
        liveness.end(session, identity)
    assert service.client.get("/readyz").json()["warnings"] == [NOBODY]


def test_readiness_is_told_to_everybody(tmp_path: Path) -> None:
    with running_service(tmp_path / "data", tokens=parse_tokens([f"ci:submit:{'s' * 40}"])) as service:
        assert service.client.get("/readyz").status_code == 200


def test_a_database_without_its_tables_is_not_ready(service: RunningService) -> None:
    with service.database.engine.begin() as connection:
        connection.execute(text("ALTER TABLE jobs RENAME TO gone"))
    assert_failing(service.client.get("/readyz"), service, "database")


def test_a_queue_that_cannot_be_used_is_not_ready(service: RunningService) -> None:
    shutil.rmtree(service.settings.data / "queue")
    (service.settings.data / "queue").write_text("no folder")
    assert_failing(service.client.get("/readyz"), service, "queue")


def test_a_redis_that_does_not_answer_is_not_ready(tmp_path: Path) -> None:
    with running_service(tmp_path / "data", broker_url="redis://127.0.0.1:1/0") as service:
        assert_failing(service.client.get("/readyz"), service, "queue")


def test_a_disk_without_room_is_not_ready(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Storage, "free_bytes", lambda _: readiness.LEAST_FREE_BYTES - 1)
    [reason] = assert_failing(service.client.get("/readyz"), service, "disk")
    assert str(readiness.LEAST_FREE_BYTES) in reason


def test_a_data_folder_that_went_away_is_not_ready(service: RunningService) -> None:
    service.settings.data.rename(service.settings.data.with_name("elsewhere"))
    problem = assert_problem(service.client.get("/readyz"), 503, "not-ready")
    assert {"/disk", "/roots"} <= {fault["at"] for fault in problem["errors"]}


def test_a_root_that_went_away_is_not_ready(tmp_path: Path) -> None:
    roots = [tmp_path / name for name in ("data/sources", "models", "more")]
    for root in roots:
        root.mkdir(parents=True)
    with running_service(tmp_path / "data", source_roots=tuple(roots)) as service:
        assert service.client.get("/readyz").status_code == 200
        roots[1].rmdir()
        [reason] = assert_failing(service.client.get("/readyz"), service, "roots")
        assert "3 source roots" in reason
        assert "number 2 " in reason


def test_a_check_that_hangs_has_failed(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(_: Service) -> None:
        time.sleep(1)

    monkeypatch.setattr(readiness, "CHECK_SECONDS", 0.1)
    monkeypatch.setattr(readiness, "CHECKS", {**readiness.CHECKS, "database": hang})
    answers = [service.client.get("/readyz") for _ in range(2)]
    for answer in answers:
        [reason] = [fault["message"] for fault in answer.json()["errors"] if fault["at"] == "/database"]
        assert reason == "did not answer within 0.1 seconds"


def test_asking_for_the_queue_takes_no_message(service: RunningService) -> None:
    service.submit()
    service.application.state.service.messages.flush()
    queue = service.application.state.service.queue
    assert [waiting_messages(queue) for _ in range(2)] == [{"cpu": 1, "cuda": 0}] * 2
