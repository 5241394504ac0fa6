"""`Idempotency-Key`: one job for one key, whoever is faster."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select

from schemas.tables import JobRow, SubmissionKeyRow
from service import submitting_once
from service.routes import jobs
from tests.running_service import RunningService, assert_problem, running_service
from tests.small_job import job_body
from workers import job_endings
from workers.submission import locate

KEY = "a1b2-c3d4"
MANY = 50
"""More requests than there are threads that routes run on."""


def _post(service: RunningService, body: dict[str, Any], key: str = KEY) -> Any:
    return service.client.post("/v1/jobs", json=body, headers={"Idempotency-Key": key})


def _jobs(service: RunningService) -> int:
    with service.database.reading() as session:
        return len(session.scalars(select(JobRow.id)).all())


def test_the_same_body_under_the_same_key_is_the_same_job(either: RunningService) -> None:
    first = _post(either, job_body())
    done = either.work(first.json()["id"])
    second = _post(either, job_body())
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.headers["location"] == second.headers["location"]
    assert second.json() == done
    assert _jobs(either) == 1


def test_order_and_white_space_make_no_other_body(service: RunningService) -> None:
    first = _post(service, job_body(name="x")).json()
    members = dict(reversed(job_body(name="x").items()))
    headers = {"Idempotency-Key": KEY, "Content-Type": "application/json"}
    second = service.client.post("/v1/jobs", content=json.dumps(members, indent=3), headers=headers)
    assert second.json()["id"] == first["id"]


@pytest.mark.parametrize("changed", [{"name": "other"}, {"framing": 1}, {"let": {"n": 1}}])
def test_another_body_under_the_same_key_is_a_conflict(service: RunningService, changed: dict[str, Any]) -> None:
    job = _post(service, job_body()).json()
    problem = assert_problem(_post(service, job_body(**changed)), 409, "key-reused")
    assert job["id"] in problem["detail"]
    assert _jobs(service) == 1


def test_a_key_is_for_all_that_can_be_submitted(service: RunningService) -> None:
    _post(service, job_body())
    answer = service.client.post("/v1/upgrades", json={"artifact": "x"}, headers={"Idempotency-Key": KEY})
    assert_problem(answer, 409, "key-reused")


def test_without_a_key_and_under_other_keys_jobs_are_several(service: RunningService) -> None:
    ids = {service.submit(), service.submit(), *(_post(service, job_body(), key).json()["id"] for key in ("a", "A"))}
    assert len(ids) == 4


def test_a_key_of_a_submission_that_was_refused_is_free(service: RunningService) -> None:
    assert_problem(_post(service, job_body(sources={})), 422, "plan")
    assert _post(service, job_body()).status_code == 202


def test_a_job_that_is_removed_sets_its_key_free(service: RunningService) -> None:
    job_id = _post(service, job_body()).json()["id"]
    service.client.post(f"/v1/jobs/{job_id}/cancel")
    service.client.delete(f"/v1/jobs/{job_id}")
    assert _post(service, job_body()).json()["id"] != job_id


def test_a_key_whose_job_is_removed_just_then_is_free(either: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was in the way when the job was added, and was gone when it was looked for."""
    first = _post(either, job_body()).json()["id"]
    either.client.post(f"/v1/jobs/{first}/cancel")
    look = submitting_once._submitted_before

    def remove_and_look(*arguments: Any) -> Any:
        if _jobs(either) == 1:
            with either.database.writing() as session:
                job_endings.remove(session, session.get_one(JobRow, UUID(first)))
        return look(*arguments)

    monkeypatch.setattr(submitting_once, "_submitted_before", remove_and_look)
    answer = _post(either, job_body())
    assert answer.status_code == 202, answer.text
    assert answer.json()["id"] != first
    assert _jobs(either) == 1


def test_few_are_prepared_at_once_and_jobs_are_shown_meanwhile(
    service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = service.submit()
    begun, go_on = threading.Semaphore(0), threading.Event()

    def wait_and_locate(*arguments: Any) -> Any:
        begun.release()
        assert go_on.wait(60)
        return locate(*arguments)

    monkeypatch.setattr(jobs, "locate", wait_and_locate)
    with ThreadPoolExecutor(MANY) as pool:
        answers = [pool.submit(_post, service, job_body(), f"key-{number}") for number in range(MANY)]
        try:
            for _ in range(8):
                assert begun.acquire(timeout=60)
            assert not begun.acquire(timeout=0.3)
            assert service.client.get(f"/v1/jobs/{shown}").status_code == 200
            assert service.client.get("/v1/jobs").status_code == 200
        finally:
            go_on.set()
    assert [one.result().status_code for one in answers] == [202] * MANY


@pytest.mark.parametrize("key", ["", "x" * 256, "two words", "caf\xe9"])
def test_what_is_no_key_is_told(service: RunningService, key: str) -> None:
    headers = {b"Idempotency-Key": key.encode("latin-1")}
    answer = service.client.post("/v1/jobs", json=job_body(), headers=headers)
    problem = assert_problem(answer, 422, "request")
    assert [fault["at"] for fault in problem["errors"]] == ["/idempotency-key"]
    assert _jobs(service) == 0


def _meeting(monkeypatch: pytest.MonkeyPatch, parties: int) -> None:
    """Makes requests wait for each other after each has looked for its key, and before any adds a job."""
    barrier = threading.Barrier(parties, timeout=60)

    def meet_and_locate(*arguments: Any) -> Any:
        barrier.wait()
        return locate(*arguments)

    monkeypatch.setattr(jobs, "locate", meet_and_locate)


def test_of_those_that_come_at_once_with_the_same_all_get_one_job(
    either: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    _meeting(monkeypatch, 8)
    answers = _at_once(lambda _: _post(either, job_body()))
    assert [answer.status_code for answer in answers] == [202] * 8
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert _jobs(either) == 1


def test_of_those_that_come_at_once_with_different_bodies_one_gets_a_job(
    either: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    _meeting(monkeypatch, 8)
    answers = _at_once(lambda number: _post(either, job_body(name=f"number {number}")))
    assert sorted(answer.status_code for answer in answers) == [202, *[409] * 7]
    with either.database.reading() as session:
        assert len(session.scalars(select(SubmissionKeyRow)).all()) == _jobs(either) == 1


def test_each_token_has_keys_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    secrets = {name: name * 40 for name in ("a", "b")}
    tokens = ",".join(f"{name}:submit:{secret}" for name, secret in secrets.items())
    with running_service(tmp_path / "data", tokens=tokens) as service:
        ids = set()
        for secret in [*secrets.values()] * 2:
            headers = {"Authorization": f"Bearer {secret}", "Idempotency-Key": KEY}
            answer = service.client.post("/v1/jobs", json=job_body(), headers=headers)
            assert answer.status_code == 202, answer.text
            ids.add(answer.json()["id"])
    assert len(ids) == 2


def _at_once(post: Callable[[int], Any]) -> list[Any]:
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(post, range(8)))
