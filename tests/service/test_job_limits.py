"""How many jobs of a token may be unfinished at once: told at once, exact however many are sent together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from httpx import Response
from sqlalchemy import select

from schemas.errors import TooManyJobsError
from schemas.tables import JobRow
from service.dependencies import Service
from service.routes import jobs
from tests.job_rows import job_row
from tests.running_service import RunningService, assert_problem, running_service
from tests.small_job import job_body
from workers import job_limits
from workers.database import Database
from workers.remote.fetching import Places
from workers.submission import locate

LIMIT = 3


@pytest.fixture
def limited(either: RunningService) -> RunningService:
    """A service on each of the two databases where few jobs may be unfinished."""
    return with_limit(either, LIMIT)


def with_limit(service: RunningService, limit: int) -> RunningService:
    settings = service.settings.model_copy(update={"max_active_jobs_per_token": limit})
    state = service.application.state
    state.service = Service.of(settings, service.database, state.service.storage, state.service.queue)
    return replace(service, settings=settings)


def post(service: RunningService, key: str | None = None, **members: Any) -> Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    return service.client.post("/v1/jobs", json=job_body(**members), headers=headers)


def assert_too_many(answer: Response) -> None:
    problem = assert_problem(answer, 429, "too-many-jobs")
    assert f"at most {LIMIT}" in problem["detail"]
    assert int(answer.headers["retry-after"]) > 0


def unfinished(database: Database) -> int:
    with database.reading() as session:
        return len(session.scalars(select(JobRow.id).where(JobRow.state == "queued")).all())


def test_one_job_more_is_refused_until_one_has_ended(limited: RunningService) -> None:
    first, *_ = [limited.submit() for _ in range(LIMIT)]
    assert_too_many(post(limited))
    assert unfinished(limited.database) == LIMIT
    assert limited.work(first)["state"] == "ready"
    limited.submit()
    assert_too_many(post(limited))


def test_a_job_that_is_tried_again_counts_too(limited: RunningService) -> None:
    cancelled = limited.submit()
    limited.client.post(f"/v1/jobs/{cancelled}/cancel")
    others = [limited.submit() for _ in range(LIMIT)]
    assert_too_many(limited.client.post(f"/v1/jobs/{cancelled}/retry"))
    job = limited.client.get(f"/v1/jobs/{cancelled}").json()
    assert (job["state"], job["attempts"]) == ("cancelled", [])
    limited.client.post(f"/v1/jobs/{others[0]}/cancel")
    assert limited.client.post(f"/v1/jobs/{cancelled}/retry").status_code == 202


def test_whoever_knows_the_key_of_a_job_gets_it_all_the_same(limited: RunningService) -> None:
    known = post(limited, "known").json()
    for _ in range(LIMIT - 1):
        limited.submit()
    assert post(limited, "known").json()["id"] == known["id"]
    assert_too_many(post(limited, "unknown"))


def test_of_many_at_once_as_many_as_there_is_room_for_become_jobs(
    limited: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = _at_once(monkeypatch, lambda _: post(limited))
    assert sorted(answer.status_code for answer in answers) == [202] * LIMIT + [429] * (8 - LIMIT)
    assert unfinished(limited.database) == LIMIT


def test_of_many_at_once_under_one_key_all_get_the_job_that_takes_the_last_place(
    limited: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(LIMIT - 1):
        limited.submit()
    answers = _at_once(monkeypatch, lambda _: post(limited, "same"))
    assert [answer.status_code for answer in answers] == [202] * 8
    assert len({answer.json()["id"] for answer in answers}) == 1


def test_each_token_has_a_limit_of_its_own(database: Database) -> None:
    def admitted(token: str) -> UUID:
        with database.writing() as session:
            job = job_row()
            session.add(job)
            job_limits.admit(session, [job], token, 1)
            return job.id

    ids = {token: admitted(token) for token in ("a", "b")}
    with pytest.raises(TooManyJobsError, match="of the token a "):
        admitted("a")
    with database.writing() as session:
        job_limits.admit(session, [session.get_one(JobRow, ids["b"])], "b", 1)
    with database.reading() as session:
        assert {token: session.get_one(JobRow, job_id).queued_by for token, job_id in ids.items()} == {
            "a": "a",
            "b": "b",
        }


def test_requests_are_counted_for_the_token_that_they_show(tmp_path: Path) -> None:
    secrets = {name: name * 40 for name in ("a", "b")}
    tokens = ",".join(f"{name}:submit:{secret}" for name, secret in secrets.items())
    with running_service(tmp_path / "data", tokens=tokens, max_active_jobs_per_token=1) as service:
        by = {name: {"Authorization": f"Bearer {secret}"} for name, secret in secrets.items()}
        mine = service.client.post("/v1/jobs", json=job_body(), headers=by["a"]).json()["id"]
        assert service.client.post("/v1/jobs", json=job_body(), headers=by["b"]).status_code == 202
        for headers in by.values():
            assert_problem(service.client.post("/v1/jobs", json=job_body(), headers=headers), 429, "too-many-jobs")
        service.client.post(f"/v1/jobs/{mine}/cancel", headers=by["b"])
        refused = service.client.post(f"/v1/jobs/{mine}/retry", headers=by["b"])
        assert_problem(refused, 429, "too-many-jobs")
        assert service.client.post(f"/v1/jobs/{mine}/retry", headers=by["a"]).status_code == 202


def _at_once(monkeypatch: pytest.MonkeyPatch, send: Callable[[int], Response]) -> list[Response]:
    """The answers to eight requests that have all been looked at before any of them writes."""
    meeting = threading.Barrier(8)

    def meet(*arguments: Any) -> Places:
        meeting.wait(60)
        return locate(*arguments)

    monkeypatch.setattr(jobs, "locate", meet)
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(send, range(8)))
